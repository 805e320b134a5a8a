"""Vision transformers (arXiv:2010.11929): patches of an image as tokens, with one more that is read at the end."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType, Source
from flexnet.model.zoo.settings import MOST_REPEATS, check_divides, check_positive, option

__all__ = ["PRESETS", "VitSettings", "build_vit"]


@dataclass(frozen=True, slots=True)
class VitSettings:
    """Sizes of a vision transformer; the defaults are those of ViT-B/16."""

    image_size: int = option(224, "height and width of an image")
    patch_size: int = option(16, "height and width of a patch; must divide the image")
    hidden_size: int = option(768, "width of a token; feed-forward layers are four times as wide inside")
    num_layers: int = option(12, "number of layers", most=MOST_REPEATS)
    num_heads: int = option(12, "attention heads; must divide the hidden size")
    num_classes: int = option(1000, "classes of images")

    def __post_init__(self) -> None:
        check_positive(self)
        check_divides(self, "num_heads", "hidden_size")
        check_divides(self, "patch_size", "image_size")


PRESETS: Mapping[str, VitSettings] = MappingProxyType(
    {
        "vit-b16": VitSettings(),
        "vit-l16": VitSettings(hidden_size=1024, num_layers=24, num_heads=16),
        "vit-h14": VitSettings(patch_size=14, hidden_size=1280, num_layers=32, num_heads=16),
    }
)


def build_vit(settings: VitSettings, batch_size: int) -> ModelGraph:
    """Patches by a convolution, layers with norms before each half, and a guess from the first token.

    >>> build_vit(VitSettings(), 64).n_parameter
    86567656
    """
    b = GraphBuilder("vit", batch_size, dtype="bf16")
    hidden, patch, size = settings.hidden_size, settings.patch_size, settings.image_size
    n_patch = (size // patch) ** 2

    def add(x: Source, y: Source) -> Source:
        return b.binary(OpType.ADD, x, y, inplace=False)

    x = b.reshape(b.conv2d(b.input(3, size, size), hidden, patch, stride=patch), batch_size, hidden, n_patch)
    (x,) = b.add(OpType.PREPEND, *b.add(OpType.TRANSPOSE, x))
    (x,) = b.add(OpType.ADD_WEIGHT, x, shape=(n_patch + 1, hidden))
    for _ in range(settings.num_layers):
        normed = b.layer_norm(x)
        query, key, value = (b.dense(normed, hidden) for _ in range(3))
        x = add(b.dense(b.scaled_dot_product(query, key, value, settings.num_heads), hidden), x)
        y = b.dense(b.layer_norm(x), 4 * hidden, activation=OpType.GELU)
        x = add(b.dense(y, hidden), x)
    (first,) = b.add(OpType.SLICE, b.layer_norm(x), axis=1, start=0, size=1)
    b.cross_entropy(b.dense(b.flat(first), settings.num_classes))
    return b.build()
