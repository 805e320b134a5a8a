"""Inception v3 (arXiv:1512.00567) on 299x299 images: as FlexNet's ``inceptionsim`` builds it, or as published.

Spatial sizes are named in comments; kernels are height x width.
"""

from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType, Source
from flexnet.model.zoo.variant import NormalizingBuilder, VariantSettings

__all__ = ["build_inception"]

RELU = OpType.RELU  # only in the stem and module A, unless behind normalizations


def build_inception(settings: VariantSettings, batch_size: int) -> ModelGraph:
    """Stem, then modules A x3, B, C x4, D, E x2, average pool, one dense layer.

    >>> graph = build_inception(VariantSettings(), 64)
    >>> len(graph.operators), len(graph.keys())
    (122, 31)
    >>> build_inception(VariantSettings("paper"), 64).n_parameter
    23834568
    """
    if settings.paper:
        return _as_published(NormalizingBuilder("inception", batch_size))
    b = GraphBuilder("inception", batch_size)
    x = _modules(b, _stem(b, b.input(3, 299, 299), padding=1))
    x = b.pool2d(x, (8, 8), average=True)  # 1
    b.softmax(b.dense(b.flat(x), 10))
    return b.build()


def _as_published(b: NormalizingBuilder) -> ModelGraph:
    """With batch normalization and a ReLU behind all convolutions, and 1000 classes."""
    x = _modules(b, _stem(b, b.input(3, 299, 299), padding=0))
    (x,) = b.add(OpType.DROPOUT, b.flat(b.pool2d(x, (8, 8), average=True)))
    b.cross_entropy(b.dense(x, 1000))
    return b.build()


def _modules(b: GraphBuilder, x: Source) -> Source:
    for width in (32, 64, 64):
        x = _module_a(b, x, width)  # 36
    x = _module_b(b, x)  # 17
    for width in (128, 160, 160, 192):
        x = _module_c(b, x, width)
    x = _module_d(b, x)  # 8
    for _ in range(2):
        x = _module_e(b, x)
    return x


def _stem(b: GraphBuilder, x: Source, *, padding: int) -> Source:
    x = b.conv2d(x, 32, (3, 3), stride=(2, 2), activation=RELU)  # 149
    x = b.conv2d(x, 32, (3, 3), activation=RELU)  # 147
    x = b.conv2d(x, 64, (3, 3), padding=(1, 1), activation=RELU)
    x = b.pool2d(x, (3, 3), stride=(2, 2))  # 73
    x = b.conv2d(x, 80, (1, 1), activation=RELU)
    x = b.conv2d(x, 192, (3, 3), padding=padding, activation=RELU)  # the paper has none
    return b.pool2d(x, (3, 3), stride=(2, 2))  # 36


def _module_a(b: GraphBuilder, x: Source, width: int) -> Source:
    b1 = b.conv2d(x, 64, (1, 1), activation=RELU)
    b2 = b.conv2d(x, 48, (1, 1), activation=RELU)
    b2 = b.conv2d(b2, 64, (5, 5), padding=(2, 2), activation=RELU)
    b3 = b.conv2d(x, 64, (1, 1), activation=RELU)
    b3 = b.conv2d(b3, 96, (3, 3), padding=(1, 1), activation=RELU)
    b3 = b.conv2d(b3, 96, (3, 3), padding=(1, 1), activation=RELU)
    b4 = b.pool2d(x, (3, 3), padding=(1, 1), average=True)
    b4 = b.conv2d(b4, width, (1, 1), activation=RELU)
    return b.concat([b1, b2, b3, b4], axis=1)


def _module_b(b: GraphBuilder, x: Source) -> Source:
    b1 = b.conv2d(x, 384, (3, 3), stride=(2, 2))
    b2 = b.conv2d(x, 64, (1, 1))
    b2 = b.conv2d(b2, 96, (3, 3), padding=(1, 1))
    b2 = b.conv2d(b2, 96, (3, 3), stride=(2, 2))
    b3 = b.pool2d(x, (3, 3), stride=(2, 2))
    return b.concat([b1, b2, b3], axis=1)


def _module_c(b: GraphBuilder, x: Source, width: int) -> Source:
    b1 = b.conv2d(x, 192, (1, 1))
    b2 = b.conv2d(x, width, (1, 1))
    b2 = _row(b, b2, width, 7)
    b2 = _column(b, b2, 192, 7)
    b3 = b.conv2d(x, width, (1, 1))
    b3 = _column(b, b3, width, 7)
    b3 = _row(b, b3, width, 7)
    b3 = _column(b, b3, width, 7)
    b3 = _row(b, b3, 192, 7)
    b4 = b.pool2d(x, (3, 3), padding=(1, 1), average=True)
    b4 = b.conv2d(b4, 192, (1, 1))
    return b.concat([b1, b2, b3, b4], axis=1)


def _module_d(b: GraphBuilder, x: Source) -> Source:
    b1 = b.conv2d(x, 192, (1, 1))
    b1 = b.conv2d(b1, 320, (3, 3), stride=(2, 2))
    b2 = b.conv2d(x, 192, (1, 1))
    b2 = _row(b, b2, 192, 7)
    b2 = _column(b, b2, 192, 7)
    b2 = b.conv2d(b2, 192, (3, 3), stride=(2, 2))
    b3 = b.pool2d(x, (3, 3), stride=(2, 2))
    return b.concat([b1, b2, b3], axis=1)


def _module_e(b: GraphBuilder, x: Source) -> Source:
    b1 = b.conv2d(x, 320, (1, 1))
    middle = b.conv2d(x, 384, (1, 1))
    b2 = _row(b, middle, 384, 3)
    b3 = _column(b, middle, 384, 3)
    middle = b.conv2d(x, 448, (1, 1))
    middle = b.conv2d(middle, 384, (3, 3), padding=(1, 1))
    b4 = _row(b, middle, 384, 3)
    b5 = _column(b, middle, 384, 3)
    b6 = b.pool2d(x, (3, 3), padding=(1, 1), average=True)
    b6 = b.conv2d(b6, 192, (1, 1))
    return b.concat([b1, b2, b3, b4, b5, b6], axis=1)


def _row(b: GraphBuilder, x: Source, channels: int, length: int) -> Source:
    return b.conv2d(x, channels, (1, length), padding=(0, length // 2))


def _column(b: GraphBuilder, x: Source, channels: int, length: int) -> Source:
    return b.conv2d(x, channels, (length, 1), padding=(length // 2, 0))
