"""AlexNet and ResNet-101 as PaSE builds them (baidu-research/PaSE, graph.py; operators listed in order)."""

from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType, Source
from flexnet.model.zoo.pase.scale import Scale

__all__ = ["build_alexnet", "build_resnet101"]

RELU = OpType.RELU
CLASSES = 1000


def build_alexnet(batch_size: int, scale: Scale) -> ModelGraph:
    """AlexNet on 227x227 images, a path of 14 operators; its last layer has 1024 outputs.

    >>> len(build_alexnet(128, Scale(128)).operators)
    14
    """
    b = GraphBuilder("alexnet", batch_size)
    x = b.conv2d(b.input(3, 227, 227), scale.width(96), (11, 11), stride=(4, 4), activation=RELU)  # 55
    x = b.pool2d(x, (3, 3), stride=(2, 2))  # 27
    x = b.conv2d(x, scale.width(256), (5, 5), padding=(2, 2), activation=RELU)
    x = b.pool2d(x, (3, 3), stride=(2, 2))  # 13
    for channels in (384, 384, 256):
        x = b.conv2d(x, scale.width(channels), (3, 3), padding=(1, 1), activation=RELU)
    x = b.pool2d(x, (3, 3), stride=(2, 2))  # 6
    x = b.reshape(x, x.tensor.volume)
    x = b.reshape(x, batch_size, x.tensor.volume // batch_size)
    x = b.dense(x, scale.width(4096), activation=RELU)
    x = b.dense(x, scale.width(4096), activation=RELU)
    b.cross_entropy(b.dense(x, 1024))
    return b.build()


def build_resnet101(batch_size: int, scale: Scale) -> ModelGraph:
    """ResNet-101 (arXiv:1512.03385) on 227x227 images: 3, 4, 23 and 3 bottlenecks; ReLU counts after additions only.

    >>> len(build_resnet101(128, Scale(128)).operators)
    245
    """
    b = GraphBuilder("resnet101", batch_size)
    x = b.batch_norm(b.conv2d(b.input(3, 227, 227), scale.width(64), (7, 7), stride=(2, 2), padding=(3, 3)))  # 114
    x = b.pool2d(x, (3, 3), stride=(2, 2), padding=(1, 1))  # 57
    for stage, n_block in enumerate((3, 4, 23, 3)):  # 57, 29, 15, 8
        for block in range(n_block):
            x = _bottleneck(b, x, scale.width(64 << stage), stride=2 if stage and not block else 1, project=not block)
    b.cross_entropy(b.dense(b.reduce_mean(x, (2, 3)), CLASSES))
    return b.build()


def _bottleneck(b: GraphBuilder, x: Source, width: int, *, stride: int, project: bool) -> Source:
    y = b.batch_norm(b.conv2d(x, width, (1, 1)))
    y = b.batch_norm(b.conv2d(y, width, (3, 3), stride=(stride, stride), padding=(1, 1)))
    y = b.batch_norm(b.conv2d(y, 4 * width, (1, 1)))
    if project:
        x = b.batch_norm(b.conv2d(x, 4 * width, (1, 1), stride=(stride, stride)))
    return b.binary(OpType.ADD, y, x, inplace=False, activation=RELU)
