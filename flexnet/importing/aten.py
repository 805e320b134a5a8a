"""Reads graphs of ATen operators: each node becomes a view, a step (`flexnet.importing.steps`), or nothing.

What every ATen operator is, `TABLE` says; element-wise ones and reductions are known by their tags.  An operator that is
in no table is decomposed as PyTorch knows it, and read again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import GraphModule, Node

from flexnet.errors import FlexNetError
from flexnet.importing.steps import Recorder, Work
from flexnet.importing.values import Base, Role, Value, reshaped

__all__ = ["Call", "Reader", "dtype_name", "values_in"]

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


Result = Value | list[Value]
Handler = Callable[["Reader", Call], Result]


def values_in(arguments: Any) -> Iterator[Value]:
    """Values in nested lists."""
    for one in arguments:
        if isinstance(one, Value):
            yield one
        elif isinstance(one, list | tuple):
            yield from values_in(one)


@dataclass
class Reader:
    """Reads one graph and those inside it.

    Parameters
    ----------
    recorder : Recorder
    batch_size : int
    folded : list of Work
        Products of parameters and constants alone, which are in no step.
    no_grad : bool
        Whether what is read now is outside of the backward pass.
    made_by : dict
        Of each computed tensor the node that put it out, which of its outputs it is, and how that shows it.
    orders : dict
        Permutations that sort, and what they sort by.
    n_expert : dict
        Experts of each module that multiplies rows by one matrix for each expert.
    """

    batch_size: int
    recorder: Recorder = field(default_factory=Recorder)
    folded: list[Work] = field(default_factory=list)
    no_grad: bool = False
    made_by: dict[Base, tuple[Node, int, Value]] = field(default_factory=dict)
    orders: dict[Base, Value] = field(default_factory=dict)
    n_expert: dict[str, int] = field(default_factory=dict)

    def read(self, graph: GraphModule, inputs: Sequence[Any], where: str = "") -> list[Any]:
        """The outputs of a graph, given values for its placeholders."""
        env: dict[Node, Any] = {}
        roots: dict[Node, Node] = {}
        given = iter(inputs)
        self._find_experts(graph, where)
        for node in graph.graph.nodes:
            if node.op == "placeholder":
                env[node] = next(given)
            elif node.op == "get_attr":
                env[node] = self._attribute(graph, str(node.target))
            elif node.op == "output":
                return [_evaluated(env, one) for one in _flat(node.args[0])]
            else:
                env[node] = self._call(graph, node, env, roots, where)
        return []

    def _find_experts(self, graph: GraphModule, where: str) -> None:
        for node in graph.graph.nodes:
            if node.op == "call_function" and "grouped_mm" in str(node.target):
                matrices = node.args[1].meta.get("val")
                if matrices is not None and matrices.ndim == 3:
                    self.n_expert[_path_of(node) or where] = int(matrices.shape[0])

    def _attribute(self, graph: GraphModule, target: str) -> Any:
        found: Any = graph
        for name in target.split("."):
            found = getattr(found, name)
        return self.constant(tuple(found.shape), dtype_name(found.dtype)) if isinstance(found, torch.Tensor) else found

    def _call(self, graph: GraphModule, node: Node, env: dict[Node, Any], roots: dict[Node, Node], where: str) -> Any:
        target: Any = node.target
        path = _path_of(node) or where
        if target is getattr and node.args[1] == "shape":
            return env[node.args[0]].shape  # type: ignore[index]
        if getattr(target, "__name__", "") == "getitem" and not hasattr(target, "_schema"):
            source = _evaluated(env, node.args[0])
            picked = source[node.args[1]]
            _alias(roots, node, node.args[0])
            return picked
        if not hasattr(target, "_schema"):
            return self._higher_order(graph, node, env, path)
        call = _call_of(node, env, path)
        if call is None:
            return None
        result = self.apply(call)
        for i, value in enumerate([result] if isinstance(result, Value) else result):
            self.made_by.setdefault(value.base, (node, i, value))
        first = node.args[0] if node.args else None
        if call.in_place and isinstance(first, Node) and isinstance(result, Value):
            self._write(call, env, roots, first, result)
        elif _may_alias(target) and isinstance(first, Node):
            _alias(roots, node, first)
        return result

    def _write(self, call: Call, env: dict[Node, Any], roots: dict[Node, Node], node: Node, result: Value) -> None:
        """What is written to a view is part of what it is a view of."""
        old = env[node]
        env[node] = result
        root = roots.get(node)
        if root is None or not isinstance(env.get(root), Value):
            return
        whole: Value = env[root]
        if whole.volume == result.volume:
            viewed = reshaped(result, whole.shape)
            if viewed is not None:
                env[root] = viewed
                return
        written = [value for value in (whole, result) if value.base.role is not Role.CONSTANT]
        if written:
            env[root] = self._overwritten(call, whole, result, old)

    def _overwritten(self, call: Call, whole: Value, part: Value, old: Value) -> Value:
        """A tensor of which a part along some axes is another."""
        same = len(part.shape) == len(whole.shape)
        shared = {k for k, n in enumerate(whole.shape) if same and part.shape[k] == n}
        sizes = dict(enumerate(whole.shape))
        uses = [
            (value, [k if k in shared else None for k in range(len(value.shape))])
            for value in (whole, part)
            if value.base.role is not Role.CONSTANT
        ]
        private = frozenset(set(sizes) - shared)
        outputs = [(list(sizes), old.base.dtype)]
        return self.recorder.record("light", call.name, call.where, uses, outputs, sizes, private=private)[0]

    def _higher_order(self, graph: GraphModule, node: Node, env: dict[Node, Any], where: str) -> Any:
        name = str(node.target)
        arguments = [_evaluated(env, one) for one in node.args]
        if name == "wrap_with_set_grad_enabled":
            enabled, inner, *rest = arguments
            before, self.no_grad = self.no_grad, self.no_grad or not enabled
            results = self.read(inner, rest, where)
            self.no_grad = before
            return results
        if name == "wrap_with_autocast":
            inner = next(one for one in arguments if isinstance(one, GraphModule))
            return self.read(inner, arguments[arguments.index(inner) + 1 :], where)
        raise FlexNetError(
            f"module {where or 'itself'} uses {name}, control flow or a kernel that flexnet cannot read; replace it by "
            "operators of PyTorch of fixed sizes"
        )

    def apply(self, call: Call, handler: "Handler | None" = None) -> Result:
        """What an operator makes of its arguments, by a handler, or that of its name and tags."""
        from flexnet.importing.aten_table import PRODUCTS, VIEWS, handler_of

        if call.name in VIEWS:
            return (handler or VIEWS[call.name])(self, call)
        values = call.values
        roles = {value.base.role for value in values}
        if roles <= {Role.CONSTANT}:
            return self._outputs(call, lambda shape, dtype: self.constant(shape, dtype))
        if roles <= {Role.CONSTANT, Role.PARAMETER} and not (
            call.name in PRODUCTS and call.shape[:1] == (self.batch_size,)
        ):
            return self._folded(call, values)
        handler = handler or handler_of(call)
        if handler is None:
            return self._by_decomposition(call)
        return handler(self, call)

    def _folded(self, call: Call, values: list[Value]) -> Result:
        from flexnet.importing.aten_table import PRODUCTS

        names = tuple(dict.fromkeys(name for value in values for name in value.base.parameters))
        grad = any(value.base.needs_grad for value in values) and not self.no_grad
        if call.name in PRODUCTS:
            before = len(self.recorder.steps)
            PRODUCTS[call.name](self, call)
            self.folded += [step.work for step in self.recorder.steps[before:] if step.work is not None]
            for step in self.recorder.steps[before:]:
                self.recorder.by_expert.difference_update(step.outputs)
            del self.recorder.steps[before:]

        def made(shape: tuple[int, ...], dtype: str) -> Value:
            floating = dtype in ("float", "double")
            return Value.whole(Base(shape, dtype, Role.PARAMETER, needs_grad=grad and floating, parameters=names))

        return self._outputs(call, made)

    def _outputs(self, call: Call, made: Callable[[tuple[int, ...], str], Value]) -> Result:
        outputs = [made(shape, dtype) for shape, dtype in zip(call.shapes, call.dtypes, strict=True)]
        return outputs[0] if len(outputs) == 1 and not _returns_list(call.op) else outputs

    def constant(self, shape: Sequence[int], dtype: str) -> Value:
        """A tensor that does not hang on data or parameters."""
        return Value.whole(Base(tuple(shape), dtype, Role.CONSTANT))

    def light(
        self, call: Call, values: Sequence[Value], *, whole: Sequence[int] = (), no_grad: bool = False
    ) -> Result:
        """An element-wise step with the shape of its output; parts cannot be computed along axes ``whole``."""
        made = self.recorder.elementwise(
            call.name, call.where, values, call.shape, call.dtypes, whole=whole, no_grad=no_grad or self.no_grad
        )
        return made[0] if len(made) == 1 and not _returns_list(call.op) else made

    def _by_decomposition(self, call: Call) -> Result:
        """Read an operator as those it is made of."""
        inner = self._decompose(call)
        if inner is None:
            name = getattr(call.op, "__name__", str(call.op))
            raise FlexNetError(
                f"operator {call.op.namespace}.{name} of module {call.where or 'itself'} is not known; replace it by "
                "operators of PyTorch that are, or give it a decomposition (torch.library.custom_op in plain PyTorch)"
            )
        results = self.read(inner, call.values, call.where)
        return results[0] if len(results) == 1 and not _returns_list(call.op) else results

    def _decompose(self, call: Call) -> GraphModule | None:
        from torch._decomp import core_aten_decompositions
        from torch.fx.experimental.proxy_tensor import make_fx

        def fake(one: Any) -> Any:
            if isinstance(one, Value):
                return torch.empty(one.shape, dtype=_TORCH[one.base.dtype], device="meta")
            if isinstance(one, list | tuple):
                return [fake(item) for item in one]
            return one

        names = list(call.given)
        arguments = [fake(call.given[name]) for name in names]
        places = [(i, one) for i, one in enumerate(arguments) if isinstance(one, torch.Tensor)]

        def run(*tensors: torch.Tensor) -> Any:
            filled = list(arguments)
            for (i, _), tensor in zip(places, tensors, strict=True):
                filled[i] = tensor
            keyword = {a.name for a in call.op._schema.arguments if a.kwarg_only}
            positional = [one for name, one in zip(names, filled, strict=True) if name not in keyword]
            named = {name: one for name, one in zip(names, filled, strict=True) if name in keyword}
            return call.op(*positional, **named)

        if len(places) != len(call.values):
            return None
        try:
            inner = make_fx(run, decomposition_table=core_aten_decompositions(), tracing_mode="real")(
                *[tensor for _, tensor in places]
            )
        except Exception:
            return None
        made = [node for node in inner.graph.nodes if node.op == "call_function"]
        return None if any(node.target is call.op for node in made) else inner


_TORCH = {"float": torch.float32, "double": torch.float64, "int32": torch.int32, "int64": torch.int64, "bool": torch.bool}


def _call_of(node: Node, env: Mapping[Node, Any], where: str) -> Call | None:
    target: Any = node.target
    schema = target._schema
    given: dict[str, Any] = {}
    for i, argument in enumerate(schema.arguments):
        if not argument.kwarg_only and i < len(node.args):
            given[argument.name] = _evaluated(env, node.args[i])
        elif argument.name in node.kwargs:
            given[argument.name] = _evaluated(env, node.kwargs[argument.name])
        else:
            given[argument.name] = argument.default_value
    meta = node.meta.get("val")
    tensors = [one for one in _flat(meta) if isinstance(one, torch.Tensor)]
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


def _evaluated(env: Mapping[Node, Any], one: Any) -> Any:
    if isinstance(one, Node):
        return env[one]
    if isinstance(one, list | tuple):
        return [_evaluated(env, item) for item in one]
    return one


def _flat(result: Any) -> list[Any]:
    return [item for one in result for item in _flat(one)] if isinstance(result, list | tuple) else [result]


def _path_of(node: Node) -> str:
    """Path of the module that a node belongs to, without the one that is traced."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    path, _ = list(stack.values())[-1]
    path = path.removeprefix("L['self']").lstrip(".")
    return path.removeprefix("module").lstrip(".")


def _alias(roots: dict[Node, Node], node: Node, source: Any) -> None:
    if isinstance(source, Node):
        roots[node] = roots.get(source, source)


def _may_alias(target: Any) -> bool:
    return any(one.alias_info is not None for one in target._schema.returns)


def _returns_list(op: Any) -> bool:
    returns = op._schema.returns
    return len(returns) != 1 or "List" in str(returns[0].type)
