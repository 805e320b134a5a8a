"""Flags of a model, and the model of a size that they ask for."""

from flexnet.commands.requests.flags import Flag, Given
from flexnet.errors import FlexNetError
from flexnet.model.graph import ModelGraph
from flexnet.model.zoo import MODELS

__all__ = ["ModelFlag", "built_model", "model_flags", "unused_model_flags"]

_MAX_ELEMENTS = 2**50  # of an operator's tensors: what they and their bytes sum up to stays exact
_KINDS = {"int list": "N-N-..", "int": "N", "float": "X", "str": "WORD"}


class ModelFlag(Flag):
    """A flag of a model; `ModelSpec.build` reads its value."""


def model_flags(model: str) -> list[ModelFlag]:
    """Flags of a model."""
    return [
        ModelFlag(
            [f"model_flag_{item.dest}", item.name, *item.aliases],
            metavar=_KINDS[item.kind],
            help=f"{item.help} (default {item.default_text})" if item.effective else f"no effect: {item.help}",
        )
        for item in MODELS[model].flags
    ]


def built_model(model: str, model_given: Given, batch_size: int) -> ModelGraph:
    """Build a model of a size that 64-bit counts can hold.

    Raises
    ------
    FlexNetError
        If it is larger, or a flag is malformed or out of range.
    """
    graph = MODELS[model].build(model_given, batch_size)
    for op in graph.operators:
        elements = sum(tensor.volume for tensor in (*(source.tensor for source in op.inputs), *op.outputs, *op.weights))
        if elements > _MAX_ELEMENTS:
            raise FlexNetError(
                f"operator {op.name} of model {model} has {elements:.1e} elements; it must have fewer than 1e15: "
                "check --batch-size and the flags of the model"
            )
    return graph


def unused_model_flags(model: str, model_given: Given) -> list[str]:
    """Sentences on flags of a model that do nothing."""
    unused = {item.name: item.help for item in MODELS[model].flags if not item.effective}
    return [f"{name} has no effect: {unused[name]}" for name in model_given if name in unused]
