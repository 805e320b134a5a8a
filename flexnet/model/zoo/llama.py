"""Llama (arXiv:2407.21783): grouped-query attention with rotary positions, SwiGLU, RMSNorm."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, Source
from flexnet.model.zoo.decoder import Attention, check_heads, decode
from flexnet.model.zoo.settings import MOST_REPEATS, check_positive, option

__all__ = ["PRESETS", "LlamaSettings", "build_llama"]


@dataclass(frozen=True, slots=True)
class LlamaSettings:
    """Sizes of a Llama; the defaults are those of Llama 3 8B."""

    vocabulary_size: int = option(128256, "tokens there are")
    hidden_size: int = option(4096, "width of a token")
    intermediate_size: int = option(14336, "width between the feed-forward layers")
    num_layers: int = option(32, "number of layers", most=MOST_REPEATS)
    num_heads: int = option(32, "attention heads; must divide the hidden size")
    num_kv_heads: int = option(8, "heads of key and value; must divide the attention heads")
    sequence_length: int = option(2048, "tokens of a sample")

    def __post_init__(self) -> None:
        check_positive(self)
        check_heads(self.hidden_size, self.num_heads, self.num_kv_heads)


PRESETS: Mapping[str, LlamaSettings] = MappingProxyType(
    {
        "llama3-8b": LlamaSettings(),
        "llama3-70b": LlamaSettings(hidden_size=8192, intermediate_size=28672, num_layers=80, num_heads=64),
        "llama3-405b": LlamaSettings(hidden_size=16384, intermediate_size=53248, num_layers=126, num_heads=128),
    }
)


def build_llama(settings: LlamaSettings, batch_size: int) -> ModelGraph:
    """Layers of attention and a gated feed-forward layer.

    >>> graph = build_llama(LlamaSettings(), 64)
    >>> graph.n_parameter, graph.blocks
    (8030261248, (RepeatedBlock(first=1, length=14, count=32),))
    """
    b = GraphBuilder("llama", batch_size, dtype="bf16")

    def feed(x: Source) -> Source:
        gate, up = (b.dense(x, settings.intermediate_size, bias=False) for _ in range(2))
        return b.dense(b.gated(gate, up), settings.hidden_size, bias=False)

    attention = Attention(settings.num_heads, settings.num_kv_heads)
    decode(
        b,
        settings.vocabulary_size,
        settings.hidden_size,
        settings.num_layers,
        settings.sequence_length,
        attention,
        feed,
    )
    return b.build()
