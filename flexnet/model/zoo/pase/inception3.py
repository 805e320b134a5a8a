"""Inception v3 (arXiv:1512.00567) as PaSE builds it: 299x299 images, batch norms, no auxiliary head.

Every convolution is followed by a batch normalization; ReLUs do not count.
"""

from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, Source
from flexnet.model.zoo.pase.scale import Scale

__all__ = ["build_inception3"]


class _Net:
    """A builder with the scaled widths."""

    def __init__(self, batch_size: int, scale: Scale) -> None:
        self.b = GraphBuilder("inception3", batch_size)
        self.scale = scale

    def conv(self, x: Source, out: int, kernel: tuple[int, int], stride: int = 1, *, same: bool = True) -> Source:
        """Convolution and batch normalization; ``same`` keeps the map's size at stride 1."""
        padding = (kernel[0] // 2, kernel[1] // 2) if same else (0, 0)
        y = self.b.conv2d(x, self.scale.width(out), kernel, stride=(stride, stride), padding=padding)
        return self.b.batch_norm(y)

    def pooled(self, x: Source, out: int) -> Source:
        """Average pooling, then a 1x1 convolution."""
        return self.conv(self.b.pool2d(x, (3, 3), padding=(1, 1), average=True), out, (1, 1))

    def reduced(self, x: Source) -> Source:
        """Max pooling to half the size."""
        return self.b.pool2d(x, (3, 3), stride=(2, 2))


def build_inception3(batch_size: int, scale: Scale) -> ModelGraph:
    """Stem, modules A x3, B, C x4, D, E x2, mean, one dense layer.

    >>> len(build_inception3(128, Scale(128)).operators)
    219
    """
    net = _Net(batch_size, scale)
    x = net.conv(net.b.input(3, 299, 299), 32, (3, 3), 2, same=False)  # 149
    x = net.conv(x, 32, (3, 3), same=False)  # 147
    x = net.reduced(net.conv(x, 64, (3, 3)))  # 73
    x = net.conv(x, 80, (1, 1))
    x = net.reduced(net.conv(x, 192, (3, 3), same=False))  # 71, then 35
    for width in (32, 64, 64):
        x = _module_a(net, x, width)
    x = _module_b(net, x)  # 17
    for width in (128, 160, 160, 192):
        x = _module_c(net, x, width)
    x = _module_d(net, x)  # 8
    for _ in range(2):
        x = _module_e(net, x)
    net.b.cross_entropy(net.b.dense(net.b.reduce_mean(x, (2, 3)), 1000))
    return net.b.build()


def _module_a(net: _Net, x: Source, width: int) -> Source:
    b1 = net.conv(x, 64, (1, 1))
    b2 = net.conv(net.conv(x, 48, (1, 1)), 64, (5, 5))
    b3 = net.conv(net.conv(net.conv(x, 64, (1, 1)), 96, (3, 3)), 96, (3, 3))
    return net.b.concat([b1, b2, b3, net.pooled(x, width)], axis=1)


def _module_b(net: _Net, x: Source) -> Source:
    b1 = net.conv(x, 384, (3, 3), 2, same=False)
    b2 = net.conv(net.conv(net.conv(x, 64, (1, 1)), 96, (3, 3)), 96, (3, 3), 2, same=False)
    return net.b.concat([b1, b2, net.reduced(x)], axis=1)


def _module_c(net: _Net, x: Source, width: int) -> Source:
    b1 = net.conv(x, 192, (1, 1))
    b2 = net.conv(x, width, (1, 1))
    for out, kernel in ((width, (1, 7)), (192, (7, 1))):
        b2 = net.conv(b2, out, kernel)
    b3 = net.conv(x, width, (1, 1))
    for out, kernel in ((width, (7, 1)), (width, (1, 7)), (width, (7, 1)), (192, (1, 7))):
        b3 = net.conv(b3, out, kernel)
    return net.b.concat([b1, b2, b3, net.pooled(x, 192)], axis=1)


def _module_d(net: _Net, x: Source) -> Source:
    b1 = net.conv(net.conv(x, 192, (1, 1)), 320, (3, 3), 2, same=False)
    b2 = net.conv(x, 192, (1, 1))
    b2 = net.conv(net.conv(b2, 192, (1, 7)), 192, (7, 1))
    b2 = net.conv(b2, 192, (3, 3), 2, same=False)
    return net.b.concat([b1, b2, net.reduced(x)], axis=1)


def _module_e(net: _Net, x: Source) -> Source:
    def fork(y: Source) -> Source:
        return net.b.concat([net.conv(y, 384, (1, 3)), net.conv(y, 384, (3, 1))], axis=1)

    b1 = net.conv(x, 320, (1, 1))
    b2 = fork(net.conv(x, 384, (1, 1)))
    b3 = fork(net.conv(net.conv(x, 448, (1, 1)), 384, (3, 3)))
    return net.b.concat([b1, b2, b3, net.pooled(x, 192)], axis=1)
