"""Variants of convolutional networks: as the original builds them, or as in their papers."""

from dataclasses import dataclass

from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import OpType, Source
from flexnet.model.zoo.settings import check_choice, option

__all__ = ["VARIANTS", "NormalizingBuilder", "VariantSettings"]

VARIANTS = ("original", "paper")


@dataclass(frozen=True, slots=True)
class VariantSettings:
    """Which variant of a network."""

    variant: str = option("original", "original, as FlexNet builds it, or paper")

    def __post_init__(self) -> None:
        check_choice("--variant", self.variant, VARIANTS)

    @property
    def paper(self) -> bool:
        """Whether it is that of the paper."""
        return self.variant == "paper"


class NormalizingBuilder(GraphBuilder):
    """A builder whose convolutions are as in papers: without bias, their channels normalized, and a ReLU behind."""

    def conv2d(
        self,
        x: Source,
        out: int,
        kernel: int | tuple[int, int],
        *,
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        groups: int = 1,
        bias: bool = False,
        activation: OpType | None = OpType.RELU,
    ) -> Source:
        """2-D convolution, normalization, and ReLU unless another activation or None is given."""
        x = super().conv2d(x, out, kernel, stride=stride, padding=padding, groups=groups, bias=bias)
        x = self.batch_norm(x)
        return x if activation is None else self.unary(activation, x)
