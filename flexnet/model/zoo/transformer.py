"""An encoder-decoder transformer (arXiv:1706.03762) without normalization, as ``transformersim`` builds it."""

from dataclasses import dataclass

from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType, Source
from flexnet.model.zoo.settings import MOST_REPEATS, Flag, check_positive, option

__all__ = ["IGNORED_FLAGS", "TransformerSettings", "build_transformer"]


@dataclass(frozen=True, slots=True)
class TransformerSettings:
    """Sizes of a transformer."""

    num_layers: int = option(12, "number of layers, each one encoder and one decoder layer", most=MOST_REPEATS)
    hidden_size: int = option(512, "width of a token")
    num_heads: int = option(16, "attention heads; must divide the hidden size")
    sequence_length: int = option(128, "tokens of a sample")

    def __post_init__(self) -> None:
        check_positive(self)
        if self.hidden_size % self.num_heads:
            raise FlexNetError(f"--num-heads is {self.num_heads}; it must divide --hidden-size {self.hidden_size}")


IGNORED_FLAGS = (Flag("--embedding-size", 512, "the width is --hidden-size", effective=False),)


def build_transformer(settings: TransformerSettings, batch_size: int) -> ModelGraph:
    """Two streams over the same input; in every layer the second attends to the first.

    >>> len(build_transformer(TransformerSettings(num_layers=6), 64).operators)
    61
    """
    builder = GraphBuilder("transformer", batch_size)
    hidden, heads = settings.hidden_size, settings.num_heads

    def attend(query: Source, memory: Source) -> Source:
        attended = builder.attention(query, memory, memory, hidden, heads)
        return builder.binary(OpType.ADD, attended, query, inplace=False)

    def feed_forward(x: Source) -> Source:
        return builder.dense(builder.dense(x, hidden, activation=OpType.RELU), hidden)

    a = b = builder.input(settings.sequence_length, hidden)
    for _ in range(settings.num_layers):
        a = feed_forward(attend(a, a))
        b = feed_forward(attend(attend(b, b), a))
    builder.dense(b, 1)
    return builder.build()
