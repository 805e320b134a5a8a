"""Operators of sequences and experts: what is refused, what may be cut, and that parts put together are the whole."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from flexnet.cost.configs import every_degrees
from flexnet.cost.estimate import complete_table
from flexnet.cost.roofline import roofline_table
from flexnet.cost.shape_names import shape_name
from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import Operator, OpType, Source
from flexnet.model.operators import kind_of
from flexnet.model.repeats import find_repeats
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config, make_strategy
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import NOMINAL_COMM

Build = Callable[[GraphBuilder], Any]


def built(build: Build) -> Operator:
    b = GraphBuilder("m", 4)
    build(b)
    return b.build().operators[-1]


def ints(b: GraphBuilder, *shape: int) -> Source:
    return b.input(*shape, dtype="int64")


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (
            lambda b: b.scaled_dot_product(b.input(3, 8), b.input(3, 8), b.input(3, 8), 3),
            "scaled_dot_product: 3 heads, 3 ",
        ),
        (
            lambda b: b.scaled_dot_product(b.input(3, 8), b.input(5, 8), b.input(3, 8), 2),
            "scaled_dot_product: key and ",
        ),
        (lambda b: b.scaled_dot_product(b.input(8), b.input(8), b.input(8), 2), r"scaled_dot_product takes a tensor"),
        (
            lambda b: b.rope(b.input(3, 8), b.input(3, 6), head=4),
            r"rope: a tensor has shape \(4, 3, 6\); it must be heads",
        ),
        (lambda b: b.gated(b.input(3, 8), b.input(3, 4)), "gated needs equal shapes"),
        (lambda b: b.gated(b.input(3, 7)), "gated takes halves of the innermost dimension"),
        (lambda b: b.gated(b.input(3, 8), b.input(3, 8), paired=True), "gated: two tensors cannot be paired"),
        (lambda b: b.token_embedding(b.input(3), 8, 2), "token_embedding takes indices; got a float tensor"),
        (lambda b: b.dispatch(b.input(6, 5), ints(b, 5, 2), 4), "dispatch: the assignment has shape"),
        (lambda b: b.dispatch(b.input(6, 5), ints(b, 6, 2), 4, capacity=0.0), "dispatch: capacity is 0.0"),
        (lambda b: b.combine(b.input(6, 2), ints(b, 6, 2), b.input(6, 5)), "combine takes a tensor of shape"),
        (
            lambda b: b.add(OpType.GROUP_NORM, b.input(5, 2, 2), groups=2),
            "group_norm: groups is 2; it must divide the 5",
        ),
        (
            lambda b: b.add(OpType.PERMUTE, b.input(5, 2), order=(1, 0, 2)),
            r"permute: order is \[1, 0, 2\]; it must begin",
        ),
        (lambda b: b.add(OpType.SLICE, b.input(5, 2), axis=1, start=3, size=3), "slice: 3 to 6 must lie within 5"),
        (lambda b: b.add(OpType.ADD_WEIGHT, b.input(5, 2), shape=(4, 2)), r"AddWeight: the weight has shape \(4, 2\)"),
        (lambda b: b.binary(OpType.ADD, b.input(5, 2), b.input(3, 2)), "ADD needs equal shapes"),
        (
            lambda b: b.dense(b.input(5, 2), 3, tied=b.token_embedding(ints(b, 4), 8, 2)),
            "Dense_2_3 cannot share a weight",
        ),
        (lambda b: b.dense(b.input(5, 2), 3, tied=b.input(4)), "Dense_2_3 cannot share a weight"),
    ],
)
def test_wrong_layers_are_sentences(build: Build, sentence: str) -> None:
    with pytest.raises(FlexNetError, match="^" + sentence):
        built(build)


@pytest.mark.parametrize(
    ("build", "sizes"),
    [
        (lambda b: b.scaled_dot_product(b.input(6, 16), b.input(5, 4), b.input(5, 4), 8, shared=2), {0: 2, 1: 6, 2: 4}),
        (lambda b: b.rope(b.input(6, 16), b.input(6, 4), head=2), {0: 2, 1: 6, 2: 4}),
        (lambda b: b.token_embedding(ints(b, 6), 9, 8), {0: 8, 1: 6, 2: 4, 3: 9}),
        (lambda b: b.rms_norm(b.input(6, 8)), {1: 6, 2: 4}),
        (lambda b: b.gated(b.input(6, 8)), {1: 6, 2: 4}),
        (lambda b: b.gated(b.input(6, 8), paired=True), {0: 4, 1: 6, 2: 4}),
        (lambda b: b.dispatch(b.input(6, 8), ints(b, 6, 2), 4), {0: 8, 3: 4}),
        (lambda b: b.add(OpType.GROUP_NORM, b.input(6, 8, 8), groups=3), {2: 3, 3: 4}),
        (lambda b: b.reshape(b.input(6, 8), 4, 6, 4, 2), {1: 4, 2: 6, 3: 4}),
        (lambda b: b.reshape(b.input(6, 8), 4, 48), {0: 6, 1: 4}),
        (lambda b: b.reshape(b.input(6, 8), 24, 8), {0: 8, 1: 4}),
        (lambda b: b.add(OpType.PERMUTE, b.input(6, 8), order=(0, 2, 1)), {0: 6, 1: 8, 2: 4}),
        (lambda b: b.binary(OpType.MUL, b.input(3, 6, 8), b.input(3, 1, 1)), {0: 8, 1: 6, 2: 3, 3: 4}),
        (lambda b: b.add(OpType.PREPEND, b.input(6, 8)), {0: 8, 2: 4}),
        (lambda b: b.add(OpType.SLICE, b.input(6, 8), axis=1, start=0, size=2), {0: 8, 2: 4}),
    ],
)
def test_what_may_be_cut(build: Build, sizes: dict[int, int]) -> None:
    op = built(build)
    assert dict(kind_of(op).cut_sizes(op)) == sizes


@pytest.mark.parametrize(
    "build",
    [
        lambda b: b.rope(b.input(6, 16), b.input(6, 8), head=1),
        lambda b: b.add(
            OpType.CONVOLUTION, b.input(8, 6), shape=(4, 8, 4), weight=(8, 1, 3), groups=8, transposed=False, bias=False
        ),
    ],
    ids=["heads", "groups"],
)
def test_what_is_read_through_a_view_is_cut_no_finer_than_it(build: Build) -> None:
    """A tensor of two halves is read as one of 8 or 16 features: these fall into two pieces at most."""
    op = built(build)
    axis = 0 if op.kind == OpType.ROPE else op.rank - 2
    assert kind_of(op).cut_sizes(op)[axis] == 8
    (first, *others) = op.inputs
    view = tuple((k, 2 if k == axis else n) for k, n in enumerate(first.tensor.dims))
    seen = replace(op, inputs=(replace(first, op=0, view=view), *others))
    assert kind_of(op).cut_sizes(seen)[axis] == 2


def test_gates_are_cut_with_what_they_gate() -> None:
    """A part of a product that puts out both has what the same part of the gate reads, and measures as any other."""
    b = GraphBuilder("m", 4)
    b.gated(b.dense(b.input(8), 16), paired=True)
    graph = b.build()
    gate = graph.operators[-1]
    table = roofline_table(graph, "a100", n_server=4)
    problem = make_problem(graph, complete_table(table, graph), Cluster(4), CORRECTED)
    four = Config((4, 1), (0, 1, 2, 3))
    assert not (build(problem, make_strategy(problem, [four, four])).kind == NOMINAL_COMM).any()
    two = build(problem, make_strategy(problem, [four, Config((2, 1), (0, 2))]))
    assert (two.kind == NOMINAL_COMM).sum() == 4  # of servers 1 and 3, there and back
    part = kind_of(gate).part(gate, (4, 1))
    assert (part.inputs[0].tensor.dims, part.outputs[0].dims) == ((4, 4), (2, 4))
    assert shape_name(part) == shape_name(built(lambda b: b.gated(b.input(4))))


def test_experts_have_room_for_their_share() -> None:
    for capacity, rows in ((1.0, 3), (1.25, 4), (0.1, 1)):
        op = built(lambda b, capacity=capacity: b.dispatch(b.input(6, 5), ints(b, 6, 2), 4, capacity=capacity))
        assert op.outputs[0].shape == (4, 4, rows, 5)


def test_a_tied_weight_belongs_to_the_first() -> None:
    b = GraphBuilder("m", 4)
    words = b.token_embedding(ints(b, 3), 8, 2)
    again = b.dense(words, 8, bias=False, tied=words)
    b.dense(b.dense(again, 2, bias=False), 8, bias=False, tied=again)
    graph = b.build()
    assert [dict(op.tied) for op in graph.operators] == [{}, {0: (0, 0)}, {}, {0: (0, 0)}]
    assert graph.n_parameter == 16 + 16


def test_blocks_must_be_wired_alike() -> None:
    b = GraphBuilder("m", 4)
    first = x = b.softmax(b.input(8))
    for i in range(4):
        x = b.binary(OpType.ADD, b.dense(x, 8), first if i != 1 else b.input(8), inplace=False)
    (found,) = find_repeats(b.build().operators)
    assert (found.first, found.length, found.count) == (5, 2, 2)
    assert found.repetitions == (range(5, 7), range(7, 9))


def whole_and_parts(op: Operator, degrees: tuple[int, ...]) -> None:
    """Compare the outputs of all parts, run on what `input_split` and `weight_split` give them, with the whole's."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from flexnet.profiler.operators import make_work

    torch.manual_seed(1)
    work = make_work(op, device="cpu", dtype=torch.float64)
    work.forward()
    kind, sizes = kind_of(op), (*degrees, 1)[: op.rank + 1]
    found = [torch.zeros_like(y) for y in work.outputs]
    for at in product(*(range(n) for n in sizes)):

        def piece(tensor: Any, split: tuple[int, ...], at: tuple[int, ...] = at) -> Any:
            for k, axis in enumerate(split):
                if axis >= 0:
                    dim = tensor.dim() - 1 - k
                    n = tensor.shape[dim] // sizes[axis]
                    tensor = tensor.narrow(dim, at[axis] * n, n)
            return tensor

        xs = [piece(x, kind.input_split(op, i)) for i, x in enumerate(work.inputs)]
        ws = [piece(w, kind.weight_split(op, i)) for i, w in enumerate(work.weights)]
        part = make_work(kind.part(op, degrees), device="cpu", dtype=torch.float64)
        for total, y in zip(found, part.compute(xs, ws), strict=True):
            piece(total, tuple(range(op.rank))).add_(y)
    for total, y in zip(found, work.outputs, strict=True):
        assert torch.allclose(total, y.to(total.dtype), rtol=1e-9, atol=1e-9)


PARTED: list[Build] = [
    lambda b: b.scaled_dot_product(b.input(6, 16), b.input(5, 4), b.input(5, 4), 8, shared=2),
    lambda b: b.rope(b.input(6, 16), b.input(6, 8), head=4),
    lambda b: b.rms_norm(b.input(6, 8)),
    lambda b: b.add(OpType.GROUP_NORM, b.input(6, 4, 4), groups=2),
    lambda b: b.gated(b.input(6, 8), b.input(6, 8)),
    lambda b: b.gated(b.input(6, 8)),
    lambda b: b.dispatch(b.input(6, 8), ints(b, 6, 2), 4),
    lambda b: b.combine(b.input(6, 2), ints(b, 6, 2), b.input(4, 3, 8)),
    lambda b: b.einsum("necf,eof->neco", b.input(4, 3, 6), (4, 8, 6)),
    lambda b: b.reshape(b.input(6, 8), 4, 6, 4, 2),
    lambda b: b.add(OpType.PERMUTE, b.input(2, 6, 8), order=(0, 3, 1, 2)),
    lambda b: b.add(OpType.SLICE, b.input(6, 8), axis=1, start=1, size=3),
    lambda b: b.add(OpType.ADD_WEIGHT, b.input(6, 8), shape=(6, 8)),
    lambda b: b.add(OpType.MUL_WEIGHT, b.input(4, 6, 8), shape=(4, 1, 1)),
    lambda b: b.add(OpType.PREPEND, b.input(6, 8), tokens=2),
    lambda b: b.binary(OpType.MUL, b.input(4, 6, 8), b.input(4, 1, 1)),
]


@pytest.mark.parametrize("build", PARTED, ids=lambda build: built(build).key)
def test_parts_put_together_are_the_whole(build: Build) -> None:
    op = built(build)
    for degrees in every_degrees(op, n_server=4, big_gpu=0):
        if op.kind != OpType.ROPE or degrees[1] == 1:  # of a part of the positions, what is timed begins at the first
            whole_and_parts(op, degrees)
