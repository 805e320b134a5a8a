"""The models flexnet knows, by name.

A model is a file with its settings, a frozen dataclass whose fields are the flags of the original's program, and a
pure function from settings and batch size to a `flexnet.model.graph.ModelGraph`.  `MODELS` joins both under a name; a
program adds its own by ``MODELS["mine"] = ModelSpec("mine", ...)``, and the command line then knows it too.  May
import the rest of `flexnet.model`.  PaSE's graphs, which have no flags, are in `flexnet.model.zoo.pase`.
"""

from typing import Any

from flexnet.errors import FlexNetError, did_you_mean
from flexnet.model.zoo import dlrm, ncf, transformer
from flexnet.model.zoo.alexnet import build_alexnet
from flexnet.model.zoo.candle_uno import CandleUnoSettings, build_candle_uno
from flexnet.model.zoo.dlrm import DlrmSettings, build_dlrm
from flexnet.model.zoo.inception import build_inception
from flexnet.model.zoo.moe import build_moe
from flexnet.model.zoo.ncf import NcfSettings, build_ncf
from flexnet.model.zoo.resnet import build_resnet
from flexnet.model.zoo.settings import Flag, ModelSpec, NoSettings, option
from flexnet.model.zoo.transformer import TransformerSettings, build_transformer
from flexnet.model.zoo.vgg import build_vgg

__all__ = ["MODELS", "Flag", "ModelSpec", "NoSettings", "option"]

_SPECS: tuple[ModelSpec[Any], ...] = (
    ModelSpec("dlrm", "recommendation model", DlrmSettings, build_dlrm, "dlrmsim", dlrm.IGNORED_FLAGS),
    ModelSpec("candle_uno", "drug response model", CandleUnoSettings, build_candle_uno, "candle_unosim"),
    ModelSpec(
        "transformer",
        "encoder-decoder transformer without embeddings and normalization, feed-forward layers as wide as a token",
        TransformerSettings,
        build_transformer,
        "transformersim",
        transformer.IGNORED_FLAGS,
    ),
    ModelSpec(
        "vgg",
        "VGG-16 with 229x229 images, padding 2 and 3x3 pools: 289.4 M parameters in place of 138.4 M",
        NoSettings,
        build_vgg,
        "vggsim",
    ),
    ModelSpec(
        "alexnet",
        "AlexNet on one GPU, with 229x229 images and 10 classes: 57.0 M parameters in place of 61.1 M",
        NoSettings,
        build_alexnet,
        "alexnetsim",
    ),
    ModelSpec(
        "resnet",
        "ResNet-50 without batch normalization, with 229x229 images and 10 classes: 23.6 M parameters in place of "
        "25.6 M",
        NoSettings,
        build_resnet,
        "resnetsim",
    ),
    ModelSpec(
        "inception",
        "Inception v3 without batch normalization and auxiliary classifier, with 10 classes: 21.8 M parameters in "
        "place of 23.8 M",
        NoSettings,
        build_inception,
        "inceptionsim",
    ),
    ModelSpec("ncf", "neural collaborative filtering", NcfSettings, build_ncf, "ncfsim", ncf.IGNORED_FLAGS),
    ModelSpec("moe", "mixture of five experts", NoSettings, build_moe, "moesim"),
)


class _Models(dict[str, ModelSpec[Any]]):
    """Models by name; an unknown name is a sentence."""

    def __missing__(self, name: str) -> ModelSpec[Any]:
        hint = did_you_mean(str(name), self) or f"choose one of {', '.join(self)}"
        raise FlexNetError(f"unknown model {name!r}; {hint}")


MODELS: dict[str, ModelSpec[Any]] = _Models({spec.name: spec for spec in _SPECS})
"""Models by name: of ``flexnet search``, ``profile`` and ``models``."""
