"""GPT-2 and GPT-3 (arXiv:2005.14165): learned positions, norms before each half of a layer, GELU, a tied head."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType, Source
from flexnet.model.zoo.settings import MOST_REPEATS, check_divides, check_positions, check_positive, option

__all__ = ["PRESETS", "GptSettings", "build_gpt"]


@dataclass(frozen=True, slots=True)
class GptSettings:
    """Sizes of a GPT; the defaults are those of GPT-2."""

    vocabulary_size: int = option(50257, "tokens there are")
    hidden_size: int = option(768, "width of a token; feed-forward layers are four times as wide inside")
    num_layers: int = option(12, "number of layers", most=MOST_REPEATS)
    num_heads: int = option(12, "attention heads; must divide the hidden size")
    positions: int = option(1024, "positions there are")
    sequence_length: int = option(1024, "tokens of a sample; at most the positions")

    def __post_init__(self) -> None:
        check_positive(self)
        check_divides(self, "num_heads", "hidden_size")
        check_positions(self)


PRESETS: Mapping[str, GptSettings] = MappingProxyType(
    {
        "gpt2": GptSettings(),
        "gpt3-175b": GptSettings(hidden_size=12288, num_layers=96, num_heads=96, positions=2048, sequence_length=2048),
    }
)


def build_gpt(settings: GptSettings, batch_size: int) -> ModelGraph:
    """Query, key and value are one product, as in GPT-2.

    >>> build_gpt(GptSettings(), 64).n_parameter
    124439808
    """
    b = GraphBuilder("gpt", batch_size, dtype="bf16")
    hidden, steps = settings.hidden_size, settings.sequence_length
    words = b.token_embedding(b.input(steps, dtype="int64"), settings.vocabulary_size, hidden)
    places = b.token_embedding(b.input(steps, dtype="int64"), settings.positions, hidden)

    def attend(x: Source) -> Source:
        query, key, value = b.add(OpType.SPLIT, b.dense(x, 3 * hidden), sizes=[hidden] * 3, axis=2)
        return b.dense(b.scaled_dot_product(query, key, value, settings.num_heads, causal=True), hidden)

    x = b.binary(OpType.ADD, words, places, inplace=False)
    for _ in range(settings.num_layers):
        x = b.binary(OpType.ADD, attend(b.layer_norm(x)), x, inplace=False)
        y = b.dense(b.layer_norm(x), 4 * hidden, activation=OpType.GELU)
        x = b.binary(OpType.ADD, x, b.dense(y, hidden), inplace=False)
    b.cross_entropy(b.dense(b.layer_norm(x), settings.vocabulary_size, bias=False, tied=words))
    return b.build()
