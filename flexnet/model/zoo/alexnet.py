"""AlexNet (Krizhevsky 2014, arXiv:1404.5997) on 229x229 images, as FlexNet's ``alexnetsim`` builds it."""

from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType
from flexnet.model.zoo.settings import NoSettings

__all__ = ["build_alexnet"]


def build_alexnet(settings: NoSettings, batch_size: int) -> ModelGraph:
    """Five convolutions, three pools, three dense layers.

    >>> build_alexnet(NoSettings(), 64).operators[8].outputs[0].dims
    (9216, 64)
    """
    b = GraphBuilder("alexnet", batch_size)
    relu = OpType.RELU
    x = b.input(3, 229, 229)
    x = b.conv2d(x, 64, (11, 11), stride=(4, 4), padding=(2, 2), activation=relu)
    x = b.pool2d(x, (3, 3), stride=(2, 2))
    x = b.conv2d(x, 192, (5, 5), padding=(2, 2), activation=relu)
    x = b.pool2d(x, (3, 3), stride=(2, 2))
    for channels in (384, 256, 256):
        x = b.conv2d(x, channels, (3, 3), padding=(1, 1), activation=relu)
    x = b.pool2d(x, (3, 3), stride=(2, 2))
    x = b.flat(x)
    x = b.dense(x, 4096, activation=relu)
    x = b.dense(x, 4096, activation=relu)
    b.softmax(b.dense(x, 10))
    return b.build()
