"""Flags of a model, and the model of a size that they ask for."""

from pathlib import Path
from typing import Any

from flexnet.commands.requests.flags import Flag, Given
from flexnet.errors import FlexNetError
from flexnet.model.graph import ModelGraph
from flexnet.model.zoo import MODELS, ModelSpec, NoSettings

__all__ = [
    "ModelFlag",
    "built_model",
    "find_model",
    "from_anywhere",
    "is_model_file",
    "model_flags",
    "toy_model",
    "unused_model_flags",
]

_MAX_ELEMENTS = 2**50  # of an operator's tensors: what they and their bytes sum up to stays exact
_TOY = 10_000  # parameters
_KINDS = {"int list": "N-N-..", "int": "N", "float": "X", "str": "WORD"}


class ModelFlag(Flag):
    """A flag of a model; `ModelSpec.build` reads its value."""


def is_model_file(model: str) -> bool:
    """Whether a model is named by a file, which ``flexnet import`` wrote."""
    return model.endswith(".json")


def from_anywhere(model: str) -> str:
    """How a model is named whatever the working directory is then."""
    return str(Path(model).absolute()) if is_model_file(model) else model


def find_model(model: str) -> ModelSpec[Any]:
    """A model of the zoo by its name, or one that was imported by its file.

    Raises
    ------
    FlexNetError
        If there is no model of this name.
    """
    if not is_model_file(model):
        return MODELS[model]

    def make(settings: NoSettings, batch_size: int) -> ModelGraph:
        from flexnet.model.graph_file import read_graph

        return read_graph(model, batch_size)[0]

    return ModelSpec(model, "a model that was imported", NoSettings, make)


def model_flags(model: str) -> list[ModelFlag]:
    """Flags of a model."""
    return [
        ModelFlag(
            [f"model_flag_{item.dest}", item.name, *item.aliases],
            metavar=_KINDS[item.kind],
            help=f"{item.help} (default {item.default_text})" if item.effective else f"no effect: {item.help}",
        )
        for item in find_model(model).flags
    ]


def built_model(model: str, model_given: Given, batch_size: int) -> ModelGraph:
    """Build a model of a size that 64-bit counts can hold.

    Raises
    ------
    FlexNetError
        If it is larger, or a flag is malformed or out of range.
    """
    graph = find_model(model).build(model_given, batch_size)
    for op in graph.operators:
        elements = sum(tensor.volume for tensor in (*(source.tensor for source in op.inputs), *op.outputs, *op.weights))
        if elements > _MAX_ELEMENTS:
            raise FlexNetError(
                f"operator {op.name} of model {model} has {min(elements, 10**300):.1e} elements; it must have "
                "fewer than 1e15: check --batch-size and the flags of the model"
            )
    return graph


def toy_model(model: str, model_given: Given, graph: ModelGraph) -> list[str]:
    """A sentence on a model of the zoo that is next to nothing as long as no flag says how large it is."""
    if is_model_file(model) or model_given or graph.n_parameter >= _TOY:
        return []
    return [f"{model} is a toy of {graph.n_parameter} parameters until flags say more: flexnet search {model} --help"]


def unused_model_flags(model: str, model_given: Given) -> list[str]:
    """Sentences on flags of a model that do nothing."""
    unused = {item.name: item.help for item in find_model(model).flags if not item.effective}
    return [f"{name} has no effect: {unused[name]}" for name in model_given if name in unused]
