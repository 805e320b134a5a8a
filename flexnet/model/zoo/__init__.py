"""The models flexnet knows, by name.

A model is a file with its settings, a frozen dataclass whose fields are the flags of the original's program, and a
pure function from settings and batch size to a `flexnet.model.graph.ModelGraph`.  `MODELS` joins both under a name; a
program adds its own by ``MODELS["mine"] = ModelSpec("mine", ...)``, and the command line then knows it too.  May
import the rest of `flexnet.model`.  PaSE's graphs, which have no flags, are in `flexnet.model.zoo.pase`.
"""

from typing import Any

from flexnet.errors import FlexNetError, did_you_mean
from flexnet.model.zoo import bert, dlrm, gpt, llama, mixtral, ncf, t5, transformer, vit
from flexnet.model.zoo.alexnet import build_alexnet
from flexnet.model.zoo.bert import BertSettings, build_bert
from flexnet.model.zoo.candle_uno import CandleUnoSettings, build_candle_uno
from flexnet.model.zoo.dlrm import DlrmSettings, build_dlrm
from flexnet.model.zoo.gpt import GptSettings, build_gpt
from flexnet.model.zoo.inception import build_inception
from flexnet.model.zoo.llama import LlamaSettings, build_llama
from flexnet.model.zoo.mixtral import MixtralSettings, build_mixtral
from flexnet.model.zoo.moe import build_moe
from flexnet.model.zoo.ncf import NcfSettings, build_ncf
from flexnet.model.zoo.resnet import build_resnet
from flexnet.model.zoo.settings import Flag, ModelSpec, NoSettings, option
from flexnet.model.zoo.t5 import T5Settings, build_t5
from flexnet.model.zoo.transformer import TransformerSettings, build_transformer
from flexnet.model.zoo.variant import VariantSettings
from flexnet.model.zoo.vgg import build_vgg
from flexnet.model.zoo.vit import VitSettings, build_vit

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
        VariantSettings,
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
        VariantSettings,
        build_resnet,
        "resnetsim",
    ),
    ModelSpec(
        "inception",
        "Inception v3 without batch normalization and auxiliary classifier, with 10 classes: 21.8 M parameters in "
        "place of 23.8 M",
        VariantSettings,
        build_inception,
        "inceptionsim",
    ),
    ModelSpec("ncf", "neural collaborative filtering", NcfSettings, build_ncf, "ncfsim", ncf.IGNORED_FLAGS),
    ModelSpec("moe", "mixture of five experts", NoSettings, build_moe, "moesim"),
    ModelSpec("gpt", "GPT-2 or GPT-3", GptSettings, build_gpt, presets=gpt.PRESETS),
    ModelSpec("llama", "Llama 3", LlamaSettings, build_llama, presets=llama.PRESETS),
    ModelSpec("mixtral", "Mixtral, a mixture of experts", MixtralSettings, build_mixtral, presets=mixtral.PRESETS),
    ModelSpec("vit", "vision transformer", VitSettings, build_vit, presets=vit.PRESETS),
    ModelSpec("bert", "BERT, trained to fill in masked words", BertSettings, build_bert, presets=bert.PRESETS),
    ModelSpec("t5", "T5, an encoder and a decoder", T5Settings, build_t5, presets=t5.PRESETS),
)


class _Models(dict[str, ModelSpec[Any]]):
    """Models by name; an unknown name is a sentence."""

    def __missing__(self, name: str) -> ModelSpec[Any]:
        hint = did_you_mean(str(name), self) or f"choose one of {', '.join(self)}"
        raise FlexNetError(f"unknown model {name!r}; {hint}")


MODELS: dict[str, ModelSpec[Any]] = _Models({spec.name: spec for spec in _SPECS})
"""Models by name: of ``flexnet search``, ``profile`` and ``models``."""
