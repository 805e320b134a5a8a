"""A recurrent language model and a transformer as PaSE builds them; embeddings are products with one-hot tokens."""

from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType, Source
from flexnet.model.zoo.pase.scale import Scale

__all__ = ["build_rnnlm", "build_transformer"]

STEPS = 256  # tokens of a sample
HEAD = 64  # width of an attention head
LAYERS = 6  # of the encoder, and of the decoder


def build_rnnlm(batch_size: int, scale: Scale) -> ModelGraph:
    """Embedding, two LSTM layers of 2048 units, projection to 100,000 words.

    >>> [op.kind.name for op in build_rnnlm(128, Scale(128)).operators]
    ['EINSUM', 'LSTM', 'LINEAR', 'SOFTMAX_CROSS_ENTROPY']
    """
    vocabulary, width = 100_000, scale.width(2048)
    b = GraphBuilder("rnnlm", batch_size)
    x = b.einsum("abc,cd->abd", b.input(STEPS, vocabulary), (vocabulary, width))
    b.cross_entropy(b.dense(b.lstm(x, width, 2), vocabulary))
    return b.build()


def build_transformer(batch_size: int, scale: Scale) -> ModelGraph:
    """Transformer (arXiv:1706.03762), 6 + 6 layers, 50,000 words; ``--model`` scales the heads, of 64 units each.

    At 128 the width is 512, with 8 heads and 2048 units in the feed-forward layers; 256 is PaSE's large variant.

    >>> len(build_transformer(128, Scale(128)).operators)
    204
    """
    net = _Transformer(GraphBuilder("transformer", batch_size), scale)
    memory = net.embedded()
    for _ in range(LAYERS):
        memory = net.feed_forward(net.attend(memory, None))
    x = net.embedded()
    for _ in range(LAYERS):
        x = net.feed_forward(net.attend(net.attend(x, None), memory))
    net.b.cross_entropy(net.b.einsum("ble,ev->blv", x, (net.width, net.vocabulary)))
    return net.b.build()


class _Transformer:
    """Sizes, and the blocks made of them."""

    vocabulary = 50_000

    def __init__(self, b: GraphBuilder, scale: Scale) -> None:
        self.b = b
        self.heads = scale.width(8)
        self.width = HEAD * self.heads
        self.hidden = 4 * self.width

    def embedded(self) -> Source:
        """Embedded tokens, positions added."""
        x = self.b.einsum("abc,cd->abd", self.b.input(STEPS, self.vocabulary), (self.vocabulary, self.width))
        return self.b.binary(OpType.ADD, x, self.b.input(STEPS, self.width), inplace=False)

    def attend(self, x: Source, memory: Source | None) -> Source:
        """Multi-head attention of ``x`` to itself or to ``memory``, with residual and normalization."""
        weight = (3, self.heads, self.width, HEAD)
        if memory is None:
            projected = self.b.einsum("ble,shek->sbhlk", x, weight)
        else:
            projected = self.b.einsum("sble,shek->sbhlk", self.b.stack([x, memory, memory]), weight)
        query, key, value = self.b.unstack(projected)
        scores = self.b.softmax(self.b.einsum("bhlk,bhmk->bhlm", query, key))
        mixed = self.b.einsum("bhlm,bhmk->bhlk", scores, value)
        joined = self.b.einsum("bhlk,hek->ble", mixed, (self.heads, self.width, HEAD))
        return self.b.layer_norm(self.b.binary(OpType.ADD, joined, x, inplace=False))

    def feed_forward(self, x: Source) -> Source:
        """Two layers with bias and ReLU between them, residual and normalization."""
        y = self.b.einsum("ble,ef->blf", x, (self.width, self.hidden), pointwise=2)
        y = self.b.einsum("blf,fe->ble", y, (self.hidden, self.width))
        return self.b.layer_norm(self.b.binary(OpType.ADD, y, x, inplace=False))
