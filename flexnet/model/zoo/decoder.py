"""What decoders of language models are made of: grouped-query attention, gated layers, and what stands around them."""

from collections.abc import Callable
from typing import NamedTuple

from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import OpType, Source

__all__ = ["Attention", "check_heads", "decode"]


class Attention(NamedTuple):
    """Sizes of grouped-query attention.

    Parameters
    ----------
    heads : int
        Of the query.
    kv_heads : int
        Of key and value, each shared by as many of the query.
    """

    heads: int
    kv_heads: int


def check_heads(hidden: int, heads: int, kv_heads: int) -> None:
    """Refuse heads that do not divide what they must."""
    if hidden % (2 * heads):
        raise FlexNetError(
            f"--num-heads is {heads}; it must divide --hidden-size {hidden} into an even number, as rotary positions do"
        )
    if heads % kv_heads:
        raise FlexNetError(f"--num-kv-heads is {kv_heads}; it must divide --num-heads {heads}")


def decode(
    b: GraphBuilder,
    vocabulary: int,
    hidden: int,
    layers: int,
    steps: int,
    attention: Attention,
    feed: Callable[[Source], Source],
) -> None:
    """A decoder with rotary positions and norms before each half of a layer, its head, and the loss.

    Parameters
    ----------
    b : GraphBuilder
    vocabulary, hidden, layers, steps : int
        Tokens there are, features of one, layers, tokens of a sample.
    attention : Attention
    feed : callable
        The second half of a layer, between its norm and the sum.
    """
    x = b.token_embedding(b.input(steps, dtype="int64"), vocabulary, hidden)
    for _ in range(layers):
        x = b.binary(OpType.ADD, x, _attend(b, b.rms_norm(x), hidden, attention), inplace=False)
        x = b.binary(OpType.ADD, x, feed(b.rms_norm(x)), inplace=False)
    b.cross_entropy(b.dense(b.rms_norm(x), vocabulary, bias=False))


def _attend(b: GraphBuilder, x: Source, hidden: int, attention: Attention) -> Source:
    heads, kv_heads = attention
    head = hidden // heads
    query, key, value = (b.dense(x, count * head, bias=False) for count in (heads, kv_heads, kv_heads))
    query, key = b.rope(query, key, head=head)
    return b.dense(b.scaled_dot_product(query, key, value, heads, shared=kv_heads, causal=True), hidden, bias=False)
