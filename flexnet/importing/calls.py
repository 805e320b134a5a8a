"""Operators of a traced graph, with their arguments by name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from flexnet.errors import FlexNetError
from flexnet.importing.values import Value

__all__ = ["Call", "call_of", "dtype_name", "evaluated", "flat", "path_of", "returns_list", "values_in"]

_DTYPES = {torch.int64: "int64", torch.bool: "bool", torch.complex64: "double", torch.complex128: "double"}


def dtype_name(dtype: torch.dtype) -> str:
    """The name of an element type in `flexnet.model.graph.ELEMENT_BYTES`; floating-point numbers are ``"float"``."""
    return _DTYPES.get(dtype, "float" if dtype.is_floating_point else "int32")


@dataclass(slots=True)
class Call:
    """One operator of a graph, with its arguments by name.

    Parameters
    ----------
    op : OpOverload
    name : str
        Without overload, and without the underscore of one that works in place.
    given : dict
        Arguments by name, defaults included; tensors as values.
    shapes, dtypes : list
        Of its outputs.
    where : str
        Path of the module.
    in_place : bool
        Whether it changes its first argument.
    """

    op: Any
    name: str
    given: dict[str, Any]
    shapes: list[tuple[int, ...]]
    dtypes: list[str]
    where: str
    in_place: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the first output."""
        return self.shapes[0]

    @property
    def first(self) -> Value:
        """The first argument."""
        found: Value = next(iter(self.given.values()))
        return found

    @property
    def values(self) -> list[Value]:
        """All tensors among its arguments."""
        return list(values_in(self.given.values()))

    def axis(self, name: str = "dim", rank: int | None = None) -> int:
        """An argument that is an axis, counted from the front."""
        rank = len(self.first.shape) if rank is None else rank
        return int(self.given[name]) % max(rank, 1)


def values_in(arguments: Any) -> Iterator[Value]:
    """Values in nested lists."""
    for one in arguments:
        if isinstance(one, Value):
            yield one
        elif isinstance(one, list | tuple):
            yield from values_in(one)


def call_of(node: Node, env: Mapping[Node, Any], where: str) -> Call | None:
    """The operator of a node; None for one that puts out no tensor."""
    target: Any = node.target
    schema = target._schema
    given: dict[str, Any] = {}
    for i, argument in enumerate(schema.arguments):
        if not argument.kwarg_only and i < len(node.args):
            given[argument.name] = evaluated(env, node.args[i])
        elif argument.name in node.kwargs:
            given[argument.name] = evaluated(env, node.kwargs[argument.name])
        else:
            given[argument.name] = argument.default_value
    meta = node.meta.get("val")
    tensors = [one for one in flat(meta) if isinstance(one, torch.Tensor)]
    if not tensors:
        return None
    for one in tensors:
        if any(not isinstance(size, int) for size in one.shape):
            raise FlexNetError(
                f"operator {target} of module {where or 'itself'} makes a tensor whose size hangs on values; replace "
                "it by one of a fixed size, as torch.where instead of a boolean index"
            )
    name = schema.name.partition("::")[2]
    in_place = name.endswith("_") and not name.endswith("__")
    return Call(
        target,
        name.rstrip("_") if in_place else name,
        given,
        [tuple(one.shape) for one in tensors],
        [dtype_name(one.dtype) for one in tensors],
        where,
        in_place,
    )


def evaluated(env: Mapping[Node, Any], one: Any) -> Any:
    """An argument, with values in place of nodes."""
    if isinstance(one, Node):
        return env[one]
    if isinstance(one, list | tuple):
        return [evaluated(env, item) for item in one]
    return one


def flat(result: Any) -> list[Any]:
    """What is nested in lists, in order."""
    return [item for one in result for item in flat(one)] if isinstance(result, list | tuple) else [result]


def path_of(node: Node) -> str:
    """Path of the module that a node belongs to, without the one that is traced."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    path = str(list(stack.values())[-1][0])
    path = path.removeprefix("L['self']").lstrip(".")
    return path.removeprefix("module").lstrip(".")


def returns_list(op: Any) -> bool:
    """Whether an operator puts out a list, or several tensors."""
    returns = op._schema.returns
    return len(returns) != 1 or "List" in str(returns[0].type)
