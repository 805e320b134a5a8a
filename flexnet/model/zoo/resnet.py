"""ResNet-50 (arXiv:1512.03385) without batch normalization, on 229x229 images, as ``resnetsim`` builds it."""

from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType, Source
from flexnet.model.zoo.settings import NoSettings

__all__ = ["build_resnet"]

STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))  # (channels, bottlenecks)


def build_resnet(settings: NoSettings, batch_size: int) -> ModelGraph:
    """Stem, sixteen bottlenecks in four stages, average pool, one dense layer.

    >>> len(build_resnet(NoSettings(), 64).operators)
    90
    """
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
