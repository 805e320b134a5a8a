"""T5 (arXiv:1910.10683): encoder and decoder with relative positions, RMSNorm, no biases, and one table of words."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType, Source
from flexnet.model.zoo.settings import MOST_REPEATS, check_positive, option

__all__ = ["PRESETS", "T5Settings", "build_t5"]

BUCKETS = 32  # of relative positions


@dataclass(frozen=True, slots=True)
class T5Settings:
    """Sizes of a T5; the defaults are those of T5-base."""

    vocabulary_size: int = option(32128, "tokens there are")
    hidden_size: int = option(768, "width of a token")
    intermediate_size: int = option(3072, "width between the feed-forward layers")
    num_layers: int = option(12, "number of layers of the encoder, and of the decoder", most=MOST_REPEATS)
    num_heads: int = option(12, "attention heads")
    head_size: int = option(64, "width of a head")
    sequence_length: int = option(512, "tokens of a sample, and of what is made of it")

    def __post_init__(self) -> None:
        check_positive(self)


PRESETS: Mapping[str, T5Settings] = MappingProxyType(
    {
        "t5-base": T5Settings(),
        "t5-small": T5Settings(hidden_size=512, intermediate_size=2048, num_layers=6, num_heads=8),
        "t5-large": T5Settings(hidden_size=1024, intermediate_size=4096, num_layers=24, num_heads=16),
        "t5-3b": T5Settings(hidden_size=1024, intermediate_size=16384, num_layers=24, num_heads=32, head_size=128),
        "t5-11b": T5Settings(hidden_size=1024, intermediate_size=65536, num_layers=24, num_heads=128, head_size=128),
    }
)


def build_t5(settings: T5Settings, batch_size: int) -> ModelGraph:
    """The layers of a stack share one table of relative positions; encoder, decoder and head one of words.

    >>> build_t5(T5Settings(), 64).n_parameter
    222903552
    """
    b = GraphBuilder("t5", batch_size, dtype="bf16")
    hidden, steps, heads = settings.hidden_size, settings.sequence_length, settings.num_heads
    inner = heads * settings.head_size

    def embed(tied: Source | None) -> Source:
        tokens = b.input(steps, dtype="int64")
        (x,) = b.add(OpType.TOKEN_EMBEDDING, tokens, entries=settings.vocabulary_size, out=hidden, tied=tied)
        return x

    def attend(x: Source, memory: Source, *, buckets: int, causal: bool, tied: Source | None) -> tuple[Source, Source]:
        normed = b.rms_norm(x)
        read = normed if memory is x else memory
        query, key, value = (b.dense(y, inner, bias=False) for y in (normed, read, read))
        (attended,) = b.add(
            OpType.SCALED_DOT_PRODUCT, query, key, value, heads=heads, causal=causal, buckets=buckets, tied=tied
        )
        return b.binary(OpType.ADD, x, b.dense(attended, hidden, bias=False), inplace=False), attended

    def stack(x: Source, memory: Source | None) -> Source:
        table: Source | None = None
        for _ in range(settings.num_layers):
            x, attended = attend(x, x, buckets=BUCKETS, causal=memory is not None, tied=table)
            table = table or attended
            if memory is not None:
                x, _ = attend(x, memory, buckets=0, causal=False, tied=None)
            y = b.dense(b.rms_norm(x), settings.intermediate_size, bias=False, activation=OpType.RELU)
            x = b.binary(OpType.ADD, x, b.dense(y, hidden, bias=False), inplace=False)
        return b.rms_norm(x)

    words = embed(None)
    x = stack(embed(words), stack(words, None))
    b.cross_entropy(b.dense(x, settings.vocabulary_size, bias=False, tied=words))
    return b.build()
