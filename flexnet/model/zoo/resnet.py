"""ResNet-50 (arXiv:1512.03385): without batch normalization, as ``resnetsim`` builds it, or as published."""

from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType, Source
from flexnet.model.zoo.variant import NormalizingBuilder, VariantSettings

__all__ = ["build_resnet"]

STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))  # (channels, bottlenecks)


def build_resnet(settings: VariantSettings, batch_size: int) -> ModelGraph:
    """Stem, sixteen bottlenecks in four stages, average pool, one dense layer.

    >>> len(build_resnet(VariantSettings(), 64).operators)
    90
    >>> build_resnet(VariantSettings("paper"), 64).n_parameter
    25557032
    """
    if settings.paper:
        return _as_published(NormalizingBuilder("resnet", batch_size))
    b = GraphBuilder("resnet", batch_size)
    x = b.input(3, 229, 229)
    x = b.conv2d(x, 64, (7, 7), stride=(2, 2), padding=(3, 3))
    x = b.pool2d(x, (3, 3), stride=(2, 2), padding=(1, 1))
    for stage, (channels, depth) in enumerate(STAGES):
        for i in range(depth):
            x = _bottleneck(b, x, channels, 2 if stage > 0 and i == 0 else 1)
    x = b.pool2d(x, (7, 7), average=True)
    b.softmax(b.dense(b.flat(x), 10))
    return b.build()


def _bottleneck(b: GraphBuilder, x: Source, channels: int, stride: int) -> Source:
    y = b.conv2d(x, channels, (1, 1))
    y = b.conv2d(y, channels, (3, 3), stride=(stride, stride), padding=(1, 1))
    y = b.conv2d(y, 4 * channels, (1, 1))
    if stride > 1 or x.tensor.dims[2] != 4 * channels:
        x = b.conv2d(x, 4 * channels, (1, 1), stride=(stride, stride))
    return b.unary(OpType.RELU, b.binary(OpType.ADD, x, y, inplace=False))


def _as_published(b: NormalizingBuilder) -> ModelGraph:
    """With batch normalization, on 224x224 images of 1000 classes; a stage halves in its first 3x3 convolution."""
    x = b.conv2d(b.input(3, 224, 224), 64, 7, stride=2, padding=3)
    x = b.pool2d(x, 3, stride=2, padding=1)
    for stage, (channels, depth) in enumerate(STAGES):
        for i in range(depth):
            stride = 2 if stage > 0 and i == 0 else 1
            y = b.conv2d(b.conv2d(x, channels, 1), channels, 3, stride=stride, padding=1)
            y = b.conv2d(y, 4 * channels, 1, activation=None)
            short = x if i else b.conv2d(x, 4 * channels, 1, stride=stride, activation=None)
            x = b.unary(OpType.RELU, b.binary(OpType.ADD, y, short, inplace=False))
    b.cross_entropy(b.dense(b.flat(b.pool2d(x, 7, average=True)), 1000))
    return b.build()
