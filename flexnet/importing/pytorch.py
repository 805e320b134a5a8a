"""Model graphs of PyTorch modules, without a GPU and without weights in memory."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import torch

from flexnet.errors import FlexNetError
from flexnet.importing.aten import Reader
from flexnet.importing.aten_table import TABLES
from flexnet.importing.calls import dtype_name
from flexnet.importing.export import exported
from flexnet.importing.graphs import Imported, graph_of
from flexnet.importing.values import Base, Role, Value

__all__ = ["import_module", "parameter_shapes", "read_module"]


_ARITHMETIC = {
    torch.bfloat16: "bf16",
    torch.float16: "fp16",
    torch.float8_e4m3fn: "fp8",
    torch.float8_e5m2: "fp8",
}


def import_module(
    module: torch.nn.Module,
    inputs: Sequence[Any] | Mapping[str, Any],
    *,
    name: str,
    batch_dim: int = 0,
) -> Imported:
    """Trace a module and make operators of what it computes.

    Parameters
    ----------
    module : torch.nn.Module
        On any device; on ``meta`` it takes no memory.
    inputs : sequence, or mapping by name
        What it is called with; of tensors, shapes and types alone matter.
    name : str
    batch_dim : int
        The dimension of every input tensor that holds the batch.

    Raises
    ------
    FlexNetError
        If it cannot be traced, or has an operator that flexnet does not know; the sentence says which of which module.
    """
    reader, results, _ = read_module(module, inputs, batch_dim=batch_dim)
    elements: Counter[str] = Counter()
    for parameter in module.parameters():
        elements[_ARITHMETIC.get(parameter.dtype, "")] += prod(parameter.shape)
    shapes = parameter_shapes(module)
    return graph_of(name, reader.batch_size, reader.recorder.steps, results, shapes, reader.folded, elements)


def read_module(
    module: torch.nn.Module, inputs: Sequence[Any] | Mapping[str, Any], *, batch_dim: int = 0
) -> tuple[Reader, list[Value], "torch.export.ExportedProgram"]:
    """The steps of a module, what it returns, and the program that was traced."""
    args, kwargs = ([], dict(inputs)) if isinstance(inputs, Mapping) else (list(inputs), {})
    tensors = [one for one in (*args, *kwargs.values()) if isinstance(one, torch.Tensor)]
    if not tensors:
        raise FlexNetError("the inputs have no tensor; give at least one, with the batch as its first dimension")
    batch = _batch_of(tensors, batch_dim)
    program = exported(module, args, kwargs)
    reader = Reader(batch, TABLES)
    specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
    values = [
        _placeholder(node.meta.get("val"), specs[node.name], batch_dim, program)
        for node in program.graph.nodes
        if node.op == "placeholder"
    ]
    results = [value for value in reader.read(program.graph_module, values) if isinstance(value, Value)]
    return reader, results, program


def parameter_shapes(module: torch.nn.Module) -> dict[str, tuple[int, ...]]:
    """Shapes of the parameters of a module, by their names in what was traced."""
    named = module.named_parameters(remove_duplicate=False)
    return {f"module.{key}": tuple(parameter.shape) for key, parameter in named}


def _batch_of(tensors: Sequence[torch.Tensor], batch_dim: int) -> int:
    sizes = set()
    for tensor in tensors:
        if tensor.ndim <= batch_dim:
            raise FlexNetError(
                f"an input has shape {tuple(tensor.shape)}; dimension {batch_dim} must hold the batch (--batch-dim)"
            )
        sizes.add(int(tensor.shape[batch_dim]))
    if len(sizes) > 1:
        raise FlexNetError(
            f"inputs have {' and '.join(map(str, sorted(sizes)))} samples in dimension {batch_dim}; all must have as "
            "many (--batch-dim says which dimension holds them)"
        )
    return sizes.pop()


def _placeholder(value: Any, spec: Any, batch_dim: int, program: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    shape, dtype = tuple(value.shape), dtype_name(value.dtype)
    kind = spec.kind.name
    if kind == "PARAMETER":
        parameter = program.state_dict[spec.target]
        return Value.whole(
            Base(shape, dtype, Role.PARAMETER, needs_grad=parameter.requires_grad, parameters=(spec.target,))
        )
    if kind != "USER_INPUT":
        return Value.whole(Base(shape, dtype, Role.CONSTANT))
    order = [batch_dim, *(k for k in range(len(shape)) if k != batch_dim)]  # in memory, the batch comes first
    base = Base(tuple(shape[k] for k in order), dtype, Role.DATA, batched=True)
    whole = Value.whole(base)
    return Value(base, tuple(whole.dims[order.index(k)] for k in range(len(shape))))
