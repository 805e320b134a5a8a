"""A cut is legal only where the mathematics allows it: parts compute their share of the whole, and of its gradients.

An operator's part is run in PyTorch with noise in place of all that the graph says it does not read (zeros where it is
to sum up some channels).  Its piece of the output must be that of the whole; gradients must vanish outside of what it
reads, and those of all parts must add up to those of the whole.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice, product
from math import prod

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from random_models import cost_table, own_keys  # noqa: E402
from small_modules import BATCH, layer_names, module_of  # noqa: E402

from flexnet.cost.configs import every_degrees  # noqa: E402
from flexnet.importing.fuse import Group, fused  # noqa: E402
from flexnet.importing.graphs import emitted  # noqa: E402
from flexnet.importing.pytorch import parameter_shapes, read_module  # noqa: E402
from flexnet.importing.values import Base, Value  # noqa: E402
from flexnet.model.cutting import divisors  # noqa: E402
from flexnet.model.graph import ELEMENT_BYTES, ModelGraph, Operator  # noqa: E402
from flexnet.model.operators import kind_of  # noqa: E402
from flexnet.plan.cluster import Cluster  # noqa: E402
from flexnet.plan.problem import make_problem  # noqa: E402
from flexnet.plan.semantics import CORRECTED  # noqa: E402
from flexnet.plan.strategy import Config, make_strategy  # noqa: E402
from flexnet.plan.task_graph_builder import build  # noqa: E402
from flexnet.plan.task_kinds import NOMINAL_COMM  # noqa: E402

Tensors = dict[object, "torch.Tensor"]
Part = Mapping[int, tuple[int, int]]
"""Of each axis, into how many pieces it is cut, and which of them a part has."""
MOST_PARTS = 4
EXAMPLES = int(os.environ.get("FLEXNET_MODULES", "25"))
"""Random modules; 200 were tried for each change of what may be cut."""


class Program:
    """An imported module whose operators can be run by themselves."""

    def __init__(self, module: "torch.nn.Module", x: "torch.Tensor") -> None:
        reader, results, program = read_module(module, [x])
        groups = fused(reader.recorder.steps, results)
        self.emitter = emitted(groups, parameter_shapes(module))
        self.made_by = reader.made_by
        self.groups: dict[int, list[Group]] = {}
        for group in groups:
            self.groups.setdefault(self.emitter.places[group.exit.outputs[0]].op, []).append(group)
        self.at = {(p.op, p.output): base for base, p in self.emitter.places.items()}
        specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
        self.leaves: Tensors = {}
        self.parameters: dict[str, object] = {}
        for node in program.graph.nodes:
            if node.op == "placeholder":
                spec = specs[node.name]
                stored = {**program.state_dict, **program.constants}
                self.leaves[node, 0] = x if spec.kind.name == "USER_INPUT" else stored[spec.target]
                if spec.kind.name == "PARAMETER":
                    self.parameters[spec.target] = node, 0
                elif spec.kind.name == "USER_INPUT":
                    self.input = node, 0
        self.values: Tensors = {}
        for op in self.emitter.operators:
            for base in self.groups[op.index][-1].exit.outputs:
                if base in self.made_by:
                    self.values[base] = self.run(base, {})

    def output(self, op: Operator) -> Base:
        return self.groups[op.index][-1].exit.outputs[0]

    def run(self, base: Base, given: Tensors) -> "torch.Tensor":
        """A tensor as its node shows it, with values given for some nodes."""
        known = {node: value for (node, _), value in self.leaves.items()}
        known |= {node: value for (node, _), value in given.items() if isinstance(node.meta["val"], torch.Tensor)}

        def value(node: object) -> object:
            if not isinstance(node, torch.fx.Node):
                return [value(one) for one in node] if isinstance(node, list | tuple) else node
            if node not in known:
                kwargs = {key: value(one) for key, one in node.kwargs.items()}
                found = node.target(*[value(one) for one in node.args], **kwargs)
                if not isinstance(found, torch.Tensor):
                    found = [given.get((node, i), one) for i, one in enumerate(found)]
                known[node] = found
            return known[node]

        node, i, _ = self.made_by[base]
        found = value(node)
        return found if isinstance(found, torch.Tensor) else found[i]


def _coordinates(value: Value) -> list["torch.Tensor"]:
    """For each dimension of a value's base, where in it the elements of the value are."""
    shape = value.shape
    found = [torch.zeros(shape, dtype=torch.long) for _ in value.base.sizes]
    for axis, factors in enumerate(value.dims):
        index = torch.arange(shape[axis]).reshape([-1 if k == axis else 1 for k in range(len(shape))])
        for factor in reversed(factors):
            if factor.dim is not None:
                found[factor.dim] = found[factor.dim] + index % factor.size * factor.stride
            index = index // factor.size
    return found


def _region(coordinates: list["torch.Tensor"], ranges: list[tuple[int, int] | None]) -> "torch.Tensor":
    inside = torch.ones_like(coordinates[0], dtype=torch.bool)
    for at, limits in zip(coordinates, ranges, strict=True):
        if limits is not None:
            inside = inside & (at >= limits[0]) & (at < limits[1])
    return inside


def _put_out(program: Program, base: Base) -> list["torch.Tensor"]:
    """Coordinates along the dimensions of an operator's output, innermost first, as the base's node shows it."""
    placed = program.emitter.places[base]
    own = _coordinates(program.made_by[base][2])
    found = []
    for group in reversed(placed.groups):
        at = torch.zeros_like(own[0])
        for k in group:
            at = at * base.sizes[k] + own[k]
        found.append(at)
    return found


def _ranges(sizes: tuple[int, ...], split: tuple[int, ...], part: Part) -> list[tuple[int, int] | None]:
    found: list[tuple[int, int] | None] = []
    for n, k in zip(sizes, split, strict=True):
        degree, j = part.get(k, (1, 0))
        found.append((j * n // degree, (j + 1) * n // degree) if degree > 1 else None)
    return found


def _read(program: Program, op: Operator, i: int, part: Part) -> tuple[object, "torch.Tensor"]:
    """The node of an input, and which of its elements a part reads."""
    source, kind = op.inputs[i], kind_of(op)
    split, reach = kind.input_split(op, i), kind.reach(op, i)
    if source.op is None:
        x = program.leaves[program.input]
        same = tuple(x.shape) == source.tensor.shape
        coordinates = [
            torch.arange(n).reshape([-1 if k == a else 1 for k in range(x.ndim)]).expand(x.shape)
            for a, n in enumerate(x.shape)
        ][::-1]
        ranges = _ranges(source.tensor.dims, split, part) if same else [None] * x.ndim
        return program.input, _region(coordinates, ranges)
    base = program.at[source.op, source.output]
    sizes = program.emitter.operators[source.op].outputs[source.output].dims
    wide = [1] * len(sizes)
    if source.view is not None:
        wide = [n // source.tensor.dims[k] if k >= 0 else 1 for n, (k, _) in zip(sizes, source.view, strict=True)]
        split = tuple(split[k] if k >= 0 else -1 for k, _ in source.view)
        reach = tuple(reach[k] if k >= 0 else type(reach[0])() for k, _ in source.view)
    ranges = _ranges(sizes, split, part)
    for d, (n, k, window) in enumerate(zip(sizes, split, reach, strict=True)):
        degree, j = part.get(k, (1, 0))
        if degree > 1 and window != type(window)():
            piece = op.outputs[0].dims[k] // degree
            low = j * piece * window.stride - window.padding
            high = ((j + 1) * piece - 1) * window.stride - window.padding + window.size
            ranges[d] = (max(low * wide[d], 0), min(high * wide[d], n)) if wide[d] else None
    return program.made_by[base][:2], _region(_put_out(program, base), ranges)


def _held(program: Program, op: Operator, part: Part) -> Iterator[tuple[object, "torch.Tensor", bool]]:
    """Nodes of parameters, which of their elements a part holds, and whether what it adds up cuts them."""
    for i, base in enumerate(program.emitter.weights[op.index]):
        node = program.parameters[base.parameters[0]]
        shape = tuple(program.leaves[node].shape)
        split = kind_of(op).weight_split(op, i)
        if op.weights[i].shape != shape:
            continue  # a piece of a parameter
        at = [
            torch.arange(n).reshape([-1 if k == a else 1 for k in range(len(shape))]).expand(shape)
            for a, n in enumerate(shape)
        ][::-1]
        yield node, _region(at, _ranges(op.weights[i].dims, split, part)), _summed(op) in split


def _summed(op: Operator) -> int:
    """The number of the axis along which parts put out partial sums."""
    return op.rank


def check_operator(program: Program, op: Operator, seed: int) -> int:
    """Check all cuts along one axis, and one along any; how many there were."""
    sizes = kind_of(op).cut_sizes(op)
    cuts = [{axis: degree} for axis, size in sizes.items() for degree in divisors(size, MOST_PARTS) if degree > 1]
    cuts.append(dict(enumerate(random_degrees(op, seed))))
    cuts = [cut for cut in cuts if not (cut.get(_summed(op), 1) > 1 and _hidden(op, _summed(op)))]
    for cut in cuts:
        _check_cut(program, op, cut)
    return len(cuts)


def random_degrees(op: Operator, seed: int, *, read: bool = True) -> tuple[int, ...]:
    """A config of some of those that the search has: of what nobody reads there are no partial sums."""
    ways = every_degrees(op, n_server=MOST_PARTS, big_gpu=0)
    if not read:
        ways = [one for one in ways if one[op.rank :] in ((), (1,))]
    return ways[seed % len(ways)]


def parts_of(cut: Mapping[int, int]) -> list[Part]:
    """Of every part, of each axis that is cut how often and which piece is its own; the first axis fastest."""
    axes = sorted(cut, reverse=True)
    every = product(*[[(axis, (cut[axis], j)) for j in range(cut[axis])] for axis in axes])
    return [dict(one) for one in every]


def _hidden(op: Operator, axis: int) -> bool:
    """Whether a part picks what it sums up of an input that it reads whole: what it picks, no transfer tells."""
    splits = [(source.view, kind_of(op).input_split(op, i)) for i, source in enumerate(op.inputs)]
    return any(
        view is not None and axis in split and all(k < 0 or split[k] != axis for k, _ in view) for view, split in splits
    )


def _check_cut(program: Program, op: Operator, cut: Mapping[int, int]) -> None:
    reduction = cut.get(_summed(op), 1) > 1
    base = program.groups[op.index][0 if reduction else -1].exit.outputs[0]  # a fused activation waits for the sum
    whole = program.run(base, {})
    weight_of_loss = torch.rand(whole.shape, dtype=torch.double, generator=torch.Generator().manual_seed(1))
    want = _gradients(program, op, base, {}, weight_of_loss)
    got: dict[object, torch.Tensor] = {}
    total = torch.zeros_like(whole)
    written = _put_out(program, base)
    rank = len(op.outputs[0].dims)
    for part in parts_of(cut):
        given: Tensors = {}
        inside: dict[object, torch.Tensor] = {}
        for i in range(len(op.inputs)):
            node, region = _read(program, op, i, part)
            inside[node] = inside.get(node, torch.zeros_like(region)) | region
        for node, region, is_summed in _held(program, op, part):
            mine = is_summed or part.get(_summed(op), (1, 0))[1] == 0  # one of the parts that add up has the bias
            inside[node] = region if mine else torch.zeros_like(region)
        for node, region in inside.items():
            value = program.leaves.get(node)
            value = _value_of(program, node) if value is None else value
            if value.dtype.is_floating_point:
                other = torch.zeros_like(value) if reduction else torch.full_like(value, 0.7) * torch.rand_like(value)
                given[node] = torch.where(region, value, other).detach()
        writes = _region(written, _ranges(op.outputs[0].dims, tuple(range(rank)), part))
        out = program.run(base, given)
        total = total + torch.where(writes, out, torch.zeros_like(out))
        for node, grad in _gradients(program, op, base, given, weight_of_loss * writes).items():
            region = inside.get(node)
            if region is not None and not reduction:
                outside = grad[~region]
                assert outside.numel() == 0 or outside.abs().max() < 1e-9, (op.name, cut, "reads more")
            kept = grad if region is None else torch.where(region, grad, torch.zeros_like(grad))
            got[node] = got.get(node, torch.zeros_like(kept)) + kept
    torch.testing.assert_close(total, whole, rtol=1e-5, atol=1e-7, msg=f"{op.name} cut {cut}")
    for node, grad in want.items():
        torch.testing.assert_close(got[node], grad, rtol=1e-5, atol=1e-7, msg=f"{op.name}: gradient, cut {cut}")


def _value_of(program: Program, node: object) -> "torch.Tensor":
    found = (base for base, made in program.made_by.items() if made[:2] == node)
    base = next(base for base in found if base in program.values)
    return program.values[base]


def _gradients(program: Program, op: Operator, base: Base, given: Tensors, loss: "torch.Tensor") -> Tensors:
    """Of what an operator reads and holds, the gradients of a weighted sum of what it puts out."""
    nodes = dict.fromkeys(_read(program, op, i, {})[0] for i in range(len(op.inputs)))
    nodes |= dict.fromkeys(node for node, _, _ in _held(program, op, {}))
    leaves = {}
    for node in nodes:
        value = given.get(node, program.leaves.get(node))
        value = _value_of(program, node) if value is None else value
        leaves[node] = value.detach().clone().requires_grad_(value.dtype.is_floating_point)
    out = program.run(base, leaves)
    asked = {node: leaf for node, leaf in leaves.items() if leaf.requires_grad}
    grads = torch.autograd.grad((out * loss).sum(), list(asked.values()), allow_unused=True)
    return {
        node: torch.zeros_like(leaf) if grad is None else grad
        for (node, leaf), grad in zip(asked.items(), grads, strict=True)
    }


random_modules = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


@random_modules
@given(names=layer_names, embedded=st.booleans(), seed=st.integers(0, 1000))
def test_parts_make_up_the_whole(names: list[str], embedded: bool, seed: int) -> None:
    program = Program(*module_of(names, embedded))
    checked = sum(check_operator(program, op, seed + op.index) for op in program.emitter.operators)
    assert checked > 0
    assert all(prod(op.outputs[0].dims) > 0 for op in program.emitter.operators)


@random_modules
@given(names=layer_names, embedded=st.booleans(), seed=st.integers(0, 1000))
def test_the_task_graph_sends_what_parts_read(names: list[str], embedded: bool, seed: int) -> None:
    """All parts on servers of their own: of each part of a producer, the elements that a part reads, and back."""
    program = Program(*module_of(names, embedded))
    operators = tuple(program.emitter.operators)
    graph = own_keys(ModelGraph("random", BATCH, operators, None, ()))
    sources = {source.op for op in operators for source in op.inputs}
    degrees = [random_degrees(op, seed + op.index, read=op.index in sources) for op in operators]
    n_server = sum(prod(one) for one in degrees)
    servers = iter(range(n_server))
    configs = [Config(one, tuple(islice(servers, prod(one)))) for one in degrees]
    problem = make_problem(graph, cost_table(graph, n_server, [[one] for one in degrees]), Cluster(n_server), CORRECTED)
    tasks = build(problem, make_strategy(problem, configs))
    tasks.check()
    sent: Counter[tuple[int, ...]] = Counter()
    for t in np.flatnonzero(tasks.kind == NOMINAL_COMM):
        sent[(int(tasks.op[t]), *divmod(int(tasks.place[t]), n_server))] += int(tasks.bytes[t])
    wanted: Counter[tuple[int, ...]] = Counter()
    for op, config in zip(operators, configs, strict=True):
        for i, source in enumerate(op.inputs):
            if source.op is None:
                continue
            put_out = _put_out(program, program.at[source.op, source.output])
            sizes = operators[source.op].outputs[source.output].dims
            there = configs[source.op]
            element = ELEMENT_BYTES[source.tensor.dtype]
            for j, part in enumerate(parts_of(dict(enumerate(config.degrees)))):
                _, read = _read(program, op, i, part)
                for q, sender in enumerate(parts_of(dict(enumerate(there.degrees)))):
                    held = _region(put_out, _ranges(sizes, tuple(range(len(sizes))), sender))
                    volume = element * int((read & held).sum())
                    if volume:
                        wanted[op.index, there.devices[q], config.devices[j]] += volume
                        wanted[op.index, config.devices[j], there.devices[q]] += volume
    assert sent == wanted
