"""Reads graphs of ATen operators: each node becomes a view, a step (see `flexnet.importing.steps`), or nothing.

What every ATen operator is, the tables of `flexnet.importing.aten_table` say; element-wise ones and reductions are
known by their tags.  An operator that is in no table is decomposed as PyTorch knows it, and read again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch.fx import GraphModule, Node

from flexnet.errors import FlexNetError
from flexnet.importing.calls import Call, call_of, dtype_name, evaluated, flat, path_of, returns_list
from flexnet.importing.steps import Recorder, Work
from flexnet.importing.values import Base, Role, Value, reshaped

__all__ = ["Handler", "Reader", "Result", "Tables", "named"]

Result = Value | list[Value]
Handler = Callable[["Reader", Call], Result]


def named(handler: Handler, names: str) -> dict[str, Handler]:
    """What reads several operators, by their names in one text."""
    return dict.fromkeys(names.split(), handler)


class Tables(NamedTuple):
    """Which operator is read how.

    Parameters
    ----------
    views : mapping
        By name, those of which most are views, of parameters and constants too.
    products : mapping
        By name, those that have operations that count.
    find : callable
        What reads any other; None for one that must be decomposed.
    """

    views: Mapping[str, Handler]
    products: Mapping[str, Handler]
    find: Callable[[Call], Handler | None]


@dataclass
class Reader:
    """Reads one graph and those inside it.

    Parameters
    ----------
    batch_size : int
    tables : Tables
    recorder : Recorder
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
    tables: Tables
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
                return [evaluated(env, one) for one in flat(node.args[0])]
            else:
                env[node] = self._call(graph, node, env, roots, where)
        return []

    def _find_experts(self, graph: GraphModule, where: str) -> None:
        for node in graph.graph.nodes:
            if node.op == "call_function" and "grouped_mm" in str(node.target):
                matrices = node.args[1].meta.get("val")
                if matrices is not None and matrices.ndim == 3:
                    self.n_expert[path_of(node) or where] = int(matrices.shape[0])

    def _attribute(self, graph: GraphModule, target: str) -> Any:
        found: Any = graph
        for name in target.split("."):
            found = getattr(found, name)
        return self.constant(tuple(found.shape), dtype_name(found.dtype)) if isinstance(found, torch.Tensor) else found

    def _call(self, graph: GraphModule, node: Node, env: dict[Node, Any], roots: dict[Node, Node], where: str) -> Any:
        target: Any = node.target
        path = path_of(node) or where
        if target is getattr and node.args[1] == "shape":
            return env[node.args[0]].shape
        if getattr(target, "__name__", "") == "getitem" and not hasattr(target, "_schema"):
            source = evaluated(env, node.args[0])
            picked = source[node.args[1]]
            _alias(roots, node, node.args[0])
            return picked
        if isinstance(node.meta.get("val"), torch.types.py_sym_types):  # checks of values
            return None
        if not hasattr(target, "_schema"):
            return self._higher_order(graph, node, env, path)
        call = call_of(node, env, path)
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
            env[root] = self._overwritten(call, whole, result, old, _kept_axes(node, len(whole.shape)))

    def _overwritten(self, call: Call, whole: Value, part: Value, old: Value, axes: Sequence[int]) -> Value:
        """A tensor of which a part along some axes is another, whose dimensions are ``axes`` of it."""
        same = len(part.shape) == len(axes)
        shared = {k for k, n in zip(axes, part.shape, strict=True) if whole.shape[k] == n} if same else set()
        sizes = dict(enumerate(whole.shape))
        places = ((whole, range(len(whole.shape))), (part, axes if same else [-1] * len(part.shape)))
        uses = [
            (value, [k if k in shared else None for k in at])
            for value, at in places
            if value.base.role is not Role.CONSTANT
        ]
        private = frozenset(set(sizes) - shared)
        outputs = [(list(sizes), old.base.dtype)]
        return self.recorder.record("light", call.name, call.where, uses, outputs, sizes, private=private)[0]

    def _higher_order(self, graph: GraphModule, node: Node, env: dict[Node, Any], where: str) -> Any:
        name = str(node.target)
        arguments = [evaluated(env, one) for one in node.args]
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
        if call.name in self.tables.views:
            return (handler or self.tables.views[call.name])(self, call)
        values = call.values
        roles = {value.base.role for value in values}
        if roles <= {Role.CONSTANT}:
            return self._outputs(call, lambda shape, dtype: self.constant(shape, dtype))
        if roles <= {Role.CONSTANT, Role.PARAMETER} and not (
            call.name in self.tables.products and call.shape[:1] == (self.batch_size,)
        ):
            return self._folded(call, values)
        handler = handler or self.tables.find(call)
        if handler is None:
            return self._by_decomposition(call)
        return handler(self, call)

    def _folded(self, call: Call, values: list[Value]) -> Result:
        names = tuple(dict.fromkeys(name for value in values for name in value.base.parameters))
        grad = any(value.base.needs_grad for value in values) and not self.no_grad
        if call.name in self.tables.products:
            before = len(self.recorder.steps)
            self.tables.products[call.name](self, call)
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
        return outputs[0] if len(outputs) == 1 and not returns_list(call.op) else outputs

    def constant(self, shape: Sequence[int], dtype: str) -> Value:
        """A tensor that does not hang on data or parameters."""
        return Value.whole(Base(tuple(shape), dtype, Role.CONSTANT))

    def light(self, call: Call, values: Sequence[Value], *, whole: Sequence[int] = (), no_grad: bool = False) -> Result:
        """An element-wise step with the shape of its output; parts cannot be computed along axes ``whole``."""
        made = self.recorder.elementwise(
            call.name, call.where, values, call.shape, call.dtypes, whole=whole, no_grad=no_grad or self.no_grad
        )
        return made[0] if len(made) == 1 and not returns_list(call.op) else made

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
        return results[0] if len(results) == 1 and not returns_list(call.op) else results

    def _decompose(self, call: Call) -> GraphModule | None:
        from torch._decomp import core_aten_decompositions
        from torch.fx.experimental.proxy_tensor import make_fx
        from torch.utils._pytree import tree_flatten, tree_unflatten

        def fake(one: Any) -> Any:
            if isinstance(one, Value):
                return torch.empty(one.shape, dtype=_TORCH[one.base.dtype], device="meta")
            if isinstance(one, list | tuple):
                return [fake(item) for item in one]
            return one

        names = list(call.given)
        leaves, spec = tree_flatten([fake(call.given[name]) for name in names])
        places = [(i, one) for i, one in enumerate(leaves) if isinstance(one, torch.Tensor)]

        def run(*tensors: torch.Tensor) -> Any:
            filled = list(leaves)
            for (i, _), tensor in zip(places, tensors, strict=True):
                filled[i] = tensor
            arguments = dict(zip(names, tree_unflatten(filled, spec), strict=True))
            keyword = {a.name for a in call.op._schema.arguments if a.kwarg_only}
            positional = [one for name, one in arguments.items() if name not in keyword]
            return call.op(*positional, **{name: one for name, one in arguments.items() if name in keyword})

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


_TORCH = {
    "float": torch.float32,
    "double": torch.float64,
    "int32": torch.int32,
    "int64": torch.int64,
    "bool": torch.bool,
}


def _alias(roots: dict[Node, Node], node: Node, source: Any) -> None:
    if isinstance(source, Node):
        roots[node] = roots.get(source, source)


def _kept_axes(node: Node, rank: int) -> list[int]:
    """The axes of a tensor that a view of it has: all but the one of which it picks an index."""
    picked = node.args[1] if getattr(node.target, "__name__", "") == "select.int" else None
    return [k for k in range(rank) if not isinstance(picked, int) or k != picked % rank]


def _may_alias(target: Any) -> bool:
    return any(one.alias_info is not None for one in target._schema.returns)
