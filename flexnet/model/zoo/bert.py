"""BERT (arXiv:1810.04805), trained to fill in masked words: norms behind each half of a layer, a tied head."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType, Source
from flexnet.model.zoo.settings import MOST_REPEATS, check_divides, check_positions, check_positive, option

__all__ = ["PRESETS", "BertSettings", "build_bert"]


@dataclass(frozen=True, slots=True)
class BertSettings:
    """Sizes of a BERT; the defaults are those of BERT-base."""

    vocabulary_size: int = option(30522, "tokens there are")
    hidden_size: int = option(768, "width of a token; feed-forward layers are four times as wide inside")
    num_layers: int = option(12, "number of layers", most=MOST_REPEATS)
    num_heads: int = option(12, "attention heads; must divide the hidden size")
    positions: int = option(512, "positions there are")
    sequence_length: int = option(512, "tokens of a sample; at most the positions")

    def __post_init__(self) -> None:
        check_positive(self)
        check_divides(self, "num_heads", "hidden_size")
        check_positions(self)


PRESETS: Mapping[str, BertSettings] = MappingProxyType(
    {"bert-base": BertSettings(), "bert-large": BertSettings(hidden_size=1024, num_layers=24, num_heads=16)}
)


def build_bert(settings: BertSettings, batch_size: int) -> ModelGraph:
    """Words, positions and two kinds of sentences are added up; every word gets a guess.

    >>> build_bert(BertSettings(), 64).n_parameter
    109514298
    """
    b = GraphBuilder("bert", batch_size, dtype="bf16")
    hidden, steps = settings.hidden_size, settings.sequence_length

    def add(x: Source, y: Source) -> Source:
        return b.binary(OpType.ADD, x, y, inplace=False)

    words, kinds, places = (
        b.token_embedding(b.input(steps, dtype="int64"), entries, hidden)
        for entries in (settings.vocabulary_size, 2, settings.positions)
    )
    x = b.layer_norm(add(add(words, kinds), places))
    for _ in range(settings.num_layers):
        query, key, value = (b.dense(x, hidden) for _ in range(3))
        x = b.layer_norm(add(b.dense(b.scaled_dot_product(query, key, value, settings.num_heads), hidden), x))
        y = b.dense(x, 4 * hidden, activation=OpType.GELU)
        x = b.layer_norm(add(b.dense(y, hidden), x))
    x = b.layer_norm(b.dense(x, hidden, activation=OpType.GELU))
    b.cross_entropy(b.dense(x, settings.vocabulary_size, tied=words))
    return b.build()
