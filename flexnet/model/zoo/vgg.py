"""VGG-16 (arXiv:1409.1556) on 229x229 images, as FlexNet's ``vggsim`` builds it, or as in its paper.

Departures of the first from the paper: padding 2 in place of 1 and pools of 3x3 in place of 2x2, so that the first
dense layer reads 61952 values in place of 25088 and the model has 289 M parameters in place of 138 M.
"""

from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType
from flexnet.model.zoo.variant import VariantSettings

__all__ = ["build_vgg"]

BLOCKS = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))  # (channels, convolutions)


def build_vgg(settings: VariantSettings, batch_size: int) -> ModelGraph:
    """Five blocks of 3x3 convolutions and a pool, then three dense layers.

    >>> build_vgg(VariantSettings(), 64).operators[18].outputs[0].dims
    (61952, 64)
    >>> build_vgg(VariantSettings("paper"), 64).n_parameter
    138357544
    """
    b = GraphBuilder("vgg", batch_size)
    if settings.paper:
        return _as_published(b)
    x = b.input(3, 229, 229)
    for channels, depth in BLOCKS:
        for _ in range(depth):
            x = b.conv2d(x, channels, (3, 3), padding=(2, 2), activation=OpType.RELU)
        x = b.pool2d(x, (3, 3), stride=(2, 2))
    x = b.flat(x)
    x = b.dense(x, 4096, activation=OpType.RELU)
    x = b.dense(x, 4096, activation=OpType.RELU)
    b.softmax(b.dense(x, 1000))
    return b.build()


def _as_published(b: GraphBuilder) -> ModelGraph:
    """On 224x224 images, which a block halves, with dropout between the dense layers."""
    x = b.input(3, 224, 224)
    for channels, depth in BLOCKS:
        for _ in range(depth):
            x = b.conv2d(x, channels, 3, padding=1, activation=OpType.RELU)
        x = b.pool2d(x, 2, stride=2)
    x = b.flat(x)
    for _ in range(2):
        (x,) = b.add(OpType.DROPOUT, b.dense(x, 4096, activation=OpType.RELU))
    b.cross_entropy(b.dense(x, 1000))
    return b.build()
