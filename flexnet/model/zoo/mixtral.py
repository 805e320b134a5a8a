"""Mixtral (arXiv:2401.04088): a Llama whose feed-forward layers are mixtures of experts.

Tokens go to experts and come back between operators that may be cut along samples and others that may be cut along
experts, so what expert parallelism moves are all-to-alls.  Experts have room for ``--capacity-factor`` times an even
share of the tokens of a sample; Mixtral drops none, which is a factor of 1 where the load is even.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, Source
from flexnet.model.zoo.decoder import Attention, check_heads, decode
from flexnet.model.zoo.settings import MOST_REPEATS, check_positive, option

__all__ = ["PRESETS", "MixtralSettings", "build_mixtral"]


@dataclass(frozen=True, slots=True)
class MixtralSettings:
    """Sizes of a Mixtral; the defaults are those of 8x7B."""

    vocabulary_size: int = option(32000, "tokens there are")
    hidden_size: int = option(4096, "width of a token")
    intermediate_size: int = option(14336, "width between the layers of an expert")
    num_layers: int = option(32, "number of layers", most=MOST_REPEATS)
    num_heads: int = option(32, "attention heads; must divide the hidden size")
    num_kv_heads: int = option(8, "heads of key and value; must divide the attention heads")
    sequence_length: int = option(1024, "tokens of a sample")
    num_experts: int = option(8, "experts of a layer")
    top_k: int = option(2, "experts a token goes to")
    capacity_factor: float = option(1.0, "room of an expert, in even shares of the tokens of a sample")

    def __post_init__(self) -> None:
        check_positive(self)
        check_heads(self.hidden_size, self.num_heads, self.num_kv_heads)
        if self.top_k > self.num_experts:
            raise FlexNetError(f"--top-k is {self.top_k}; it must be at most --num-experts {self.num_experts}")
        if not 0 < self.capacity_factor < float("inf"):
            raise FlexNetError(f"--capacity-factor is {self.capacity_factor}; it must be a finite number above 0")


PRESETS: Mapping[str, MixtralSettings] = MappingProxyType(
    {
        "8x7b": MixtralSettings(),
        "8x22b": MixtralSettings(hidden_size=6144, intermediate_size=16384, num_layers=56, num_heads=48),
    }
)


def build_mixtral(settings: MixtralSettings, batch_size: int) -> ModelGraph:
    """Layers of attention and a mixture of experts; an expert's first two products are one, as its gate reads both.

    >>> graph = build_mixtral(MixtralSettings(), 64)
    >>> graph.n_parameter, graph.blocks
    (46702792704, (RepeatedBlock(first=1, length=18, count=32),))
    """
    b = GraphBuilder("mixtral", batch_size, dtype="bf16")
    experts, hidden, inner = settings.num_experts, settings.hidden_size, settings.intermediate_size

    def feed(x: Source) -> Source:
        values, chosen = b.topk(b.softmax(b.dense(x, experts, bias=False)), settings.top_k)
        rows = b.dispatch(x, chosen, experts, capacity=settings.capacity_factor)
        rows = b.gated(b.einsum("necf,eof->neco", rows, (experts, 2 * inner, hidden)), paired=True)
        return b.combine(values, chosen, b.einsum("necf,eof->neco", rows, (experts, hidden, inner)))

    attention = Attention(settings.num_heads, settings.num_kv_heads)
    decode(b, settings.vocabulary_size, hidden, settings.num_layers, settings.sequence_length, attention, feed)
    return b.build()
