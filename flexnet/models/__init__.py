"""The models flexnet knows, by name; each is a pure function from settings and batch size to a model graph."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from flexnet.models import dlrm, ncf, transformer
from flexnet.models.alexnet import build_alexnet
from flexnet.models.candle_uno import CandleUnoSettings, build_candle_uno
from flexnet.models.dlrm import DlrmSettings, build_dlrm
from flexnet.models.inception import build_inception
from flexnet.models.moe import build_moe
from flexnet.models.ncf import NcfSettings, build_ncf
from flexnet.models.resnet import build_resnet
from flexnet.models.settings import Flag, ModelSpec, NoSettings
from flexnet.models.transformer import TransformerSettings, build_transformer
from flexnet.models.vgg import build_vgg

__all__ = ["MODELS", "Flag", "ModelSpec"]

_SPECS: tuple[ModelSpec[Any], ...] = (
    ModelSpec("dlrm", "dlrmsim", "recommendation model", DlrmSettings, build_dlrm, dlrm.IGNORED_FLAGS),
    ModelSpec("candle_uno", "candle_unosim", "drug response model", CandleUnoSettings, build_candle_uno),
    ModelSpec(
        "transformer",
        "transformersim",
        "encoder-decoder transformer without embeddings and normalization, feed-forward layers as wide as a token",
        TransformerSettings,
        build_transformer,
        transformer.IGNORED_FLAGS,
    ),
    ModelSpec(
        "vgg",
        "vggsim",
        "VGG-16 with 229x229 images, padding 2 and 3x3 pools: 289.4 M parameters in place of 138.4 M",
        NoSettings,
        build_vgg,
    ),
    ModelSpec(
        "alexnet",
        "alexnetsim",
        "AlexNet on one GPU, with 229x229 images and 10 classes: 57.0 M parameters in place of 61.1 M",
        NoSettings,
        build_alexnet,
    ),
    ModelSpec(
        "resnet",
        "resnetsim",
        "ResNet-50 without batch normalization, with 229x229 images and 10 classes: 23.6 M parameters in place of "
        "25.6 M",
        NoSettings,
        build_resnet,
    ),
    ModelSpec(
        "inception",
        "inceptionsim",
        "Inception v3 without batch normalization and auxiliary classifier, with 10 classes: 21.8 M parameters in "
        "place of 23.8 M",
        NoSettings,
        build_inception,
    ),
    ModelSpec("ncf", "ncfsim", "neural collaborative filtering", NcfSettings, build_ncf, ncf.IGNORED_FLAGS),
    ModelSpec("moe", "moesim", "mixture of five experts", NoSettings, build_moe),
)

MODELS: Mapping[str, ModelSpec[Any]] = MappingProxyType({spec.name: spec for spec in _SPECS})
