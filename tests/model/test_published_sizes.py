"""The zoo's models of today have the parameters that were published, and those of Hugging Face's modules."""

from collections import Counter
from typing import Any

import pytest
from published_models import config_of

from flexnet.model.graph import ModelGraph
from flexnet.model.zoo import MODELS

PUBLISHED = {  # billions, as their papers and model cards round them
    ("gpt", "gpt2"): "0.124",
    ("gpt", "gpt3-175b"): "174.6",
    ("llama", "llama3-8b"): "8.03",
    ("llama", "llama3-70b"): "70.55",
    ("llama", "llama3-405b"): "405.9",
    ("mixtral", "8x7b"): "46.7",
    ("mixtral", "8x22b"): "140.6",
    ("vit", "vit-b16"): "0.0866",
    ("vit", "vit-l16"): "0.3043",
    ("vit", "vit-h14"): "0.6320",
    ("bert", "bert-base"): "0.110",
    ("bert", "bert-large"): "0.335",
    ("t5", "t5-small"): "0.061",
    ("t5", "t5-base"): "0.223",
    ("t5", "t5-large"): "0.738",
    ("t5", "t5-3b"): "2.85",
    ("t5", "t5-11b"): "11.3",
}


def built(model: str, **flags: Any) -> ModelGraph:
    return MODELS[model].build({"--" + name.replace("_", "-"): value for name, value in flags.items()}, 64)


@pytest.mark.parametrize(("model", "preset"), PUBLISHED)
def test_presets_have_the_published_parameters(model: str, preset: str) -> None:
    published = PUBLISHED[model, preset]
    digits = len(published.partition(".")[2])
    assert f"{built(model, preset=preset).n_parameter / 1e9:.{digits}f}" == published


def test_every_preset_is_compared() -> None:
    presets = {(name, preset) for name, spec in MODELS.items() for preset in spec.presets}
    assert presets == set(PUBLISHED)


@pytest.mark.parametrize(("model", "millions"), [("resnet", "25.557"), ("vgg", "138.358"), ("inception", "23.835")])
def test_variants_of_papers_have_the_published_parameters(model: str, millions: str) -> None:
    assert f"{built(model, variant='paper').n_parameter / 1e6:.3f}" == millions
    assert built(model, variant="original") == built(model)


@pytest.mark.parametrize(("model", "preset"), PUBLISHED)
def test_weights_are_those_of_the_module(model: str, preset: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    config, module, sizes = config_of(model, MODELS[model].presets[preset])
    with torch.device("meta"):
        twin = getattr(transformers, module)(getattr(transformers, config)(**sizes))
    twin.tie_weights()
    theirs = Counter(weight.numel() for weight in twin.parameters())
    ours = Counter(
        weight.volume
        for op in built(model, preset=preset).operators
        for i, weight in enumerate(op.weights)
        if i not in op.tied
    )
    assert ours == theirs
