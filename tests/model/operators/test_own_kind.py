"""Kinds that a program adds by a class and a line in the registry, from model to plan."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flexnet.cost.configs import measured_degrees
from flexnet.cost.coverage import check_covers
from flexnet.cost.parts import required_bytes
from flexnet.cost.roofline import roofline_table
from flexnet.cost.shape_names import shape_name
from flexnet.cost.shapes import Cuts, plan_shapes
from flexnet.errors import FlexNetError
from flexnet.exact.pase import pase_problem
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, Operator, Tensor
from flexnet.model.operators import OPERATORS, type_name
from flexnet.model.operators.kind import Axis, Layer, OperatorKind, Passes
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import CORRECTED, ORIGINAL
from flexnet.search.find import Settings, find_plan
from flexnet.taskgraph_file.read import read_taskgraph

N_SERVER = 4


class Repeat(OperatorKind):
    """Every element several times: the least a kind must say."""

    number, name = 2000, "Repeat"

    def layer(self, x: Tensor, *, factor: int) -> Layer:
        if factor < 1:
            raise FlexNetError(f"repeat: factor is {factor}; it must be at least 1")
        return Layer(f"Repeat_{factor}", [Tensor((factor * x.dims[0], *x.dims[1:]), x.dtype)], attrs={"factor": factor})

    def flops(self, op: Operator) -> Passes:
        return Passes(0, op.outputs[0].volume)


class Scale(OperatorKind):
    """A weight for each channel; parts of the channels need their own inputs and weights only."""

    number, name, channel_parallel = 2001, "Scale", True

    def layer(self, x: Tensor) -> Layer:
        return Layer("Scale", [x], [Tensor((x.dims[0],))])

    def flops(self, op: Operator) -> Passes:
        return Passes(op.outputs[0].volume, 2 * op.outputs[0].volume)

    def axes(self, op: Operator) -> Mapping[int, Axis]:
        return {0: Axis.PARAMETER, 1: Axis.SAMPLE}

    def weight_split(self, op: Operator, i: int) -> tuple[int, ...]:
        return (0,)


class Memory(OperatorKind):
    """A large table that lives on one server."""

    number, name, whole = 2002, "Memory", True

    def layer(self, x: Tensor, *, rows: int) -> Layer:
        return Layer(f"Memory_{rows}", [x], [Tensor((x.dims[0], rows))])

    def flops(self, op: Operator) -> Passes:
        return Passes(op.inputs[0].tensor.volume, op.inputs[0].tensor.volume)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPERATORS, 2000, Repeat())
    monkeypatch.setitem(OPERATORS, 2001, Scale())
    monkeypatch.setitem(OPERATORS, 2002, Memory())


def model() -> ModelGraph:
    b = GraphBuilder("own", batch_size=64)
    x = b.dense(b.input(32), 32)
    (x,) = b.add(Repeat(), x, factor=2)
    (x,) = b.add(2001, x)
    (table,) = b.add(Memory(), b.input(32), rows=1000, name="facts")
    b.dense(b.concat([x, table], axis=1), 8)
    return b.build()


def test_it_is_built_as_the_others() -> None:
    repeat, scale, memory = model().operators[1:4]
    assert [(op.kind, op.name, op.key) for op in (repeat, scale, memory)] == [
        (2000, "Repeat_101", "Repeat_2"),
        (2001, "Scale_102", "Scale"),
        (2002, "facts_103", "Memory_1000"),
    ]
    assert repeat.outputs[0].dims == (64, 64)
    assert shape_name(repeat) == "Repeat_2@32x64>64x64;factor=2"
    assert [type_name(op) for op in (repeat, scale, memory)] == ["Repeat", "Scale", "Memory"]
    b = GraphBuilder("own", 64)
    with pytest.raises(FlexNetError, match=r"^repeat: factor is 0; it must be at least 1$"):
        b.add(Repeat(), b.input(8), factor=0)
    with pytest.raises(FlexNetError, match=r"^Repeat got a tensor of shape .* of another builder"):
        b.add(Repeat(), GraphBuilder("other", 32).input(8), factor=2)


def test_its_parts_are_cut_as_it_says() -> None:
    _, repeat, scale, memory, *_ = model().operators
    flags: dict[str, Any] = {"n_server": N_SERVER, "big_gpu": 0, "parameter_parallel": True}
    assert measured_degrees(repeat, **flags) == [(1, 1), (1, 2), (1, 4)]
    assert measured_degrees(scale, **flags) == [(1, 1), (1, 2), (2, 1), (1, 4), (2, 2), (4, 1)]
    assert measured_degrees(memory, **flags) == [(1, 1)]
    half = OPERATORS[2001].part(scale, (2, 2))
    assert [tensor.dims for tensor in (half.inputs[0].tensor, *half.outputs, *half.weights)] == [(32, 32)] * 2 + [(32,)]
    assert required_bytes(repeat, 2) == 8 * (32 * 32 + 64 * 32)


@pytest.mark.parametrize("parameter_parallel", [False, True])
@pytest.mark.parametrize("semantics", [CORRECTED, ORIGINAL], ids=lambda semantics: semantics.name)
def test_it_is_estimated_and_searched(semantics: Any, parameter_parallel: bool, tmp_path: Path) -> None:
    graph = model()
    table = roofline_table(graph, "a100", n_server=N_SERVER, parameter_parallel=parameter_parallel)
    check_covers(table, graph)
    assert all(entry.forward > 0 < entry.backward for entry in table.entries["Repeat_2"])
    assert (len(table.entries["Scale"]) == 6) == parameter_parallel
    cluster = Cluster(N_SERVER, link_bandwidth=1e9, latency=1e-6, degree=2)
    problem = make_problem(graph, table, cluster, semantics)
    sharded = semantics.shard_parameters
    assert problem.arrays.weight_cut[:, 0].tolist() == [sharded, sharded, sharded, False, sharded, sharded]
    assert problem.arrays.weight_cut[:, 2].tolist() == [sharded, False, False, False, sharded, False]
    assert problem.arrays.is_whole.tolist() == [False, False, False, True, False, False]
    settings = Settings("topoopt", budget=60, propagation=True, parameter_parallel=parameter_parallel)
    found = find_plan(problem, settings)
    assert 0 < found.seconds <= found.start_seconds
    assert [config.degrees for config in found.plan.configs.values()][3] == (1, 1)
    found.plan.write_taskgraph(tmp_path / "own.fbuf")
    assert read_taskgraph(tmp_path / "own.fbuf").operators.kind.tolist() == [5, 2000, 2001, 2002, 21, 5]


def test_what_knows_nothing_of_it_says_so_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(FlexNetError, match=r"^operator Repeat_101 \(Repeat_2\) has no costs under PaSE's model$"):
        pase_problem(model(), 2, 5000.0, 1)
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from flexnet.profiler.cpu import Cpu
    from flexnet.profiler.journal import Journal
    from flexnet.profiler.measure import Job, measure_all

    job = Job(plan_shapes(model(), Cuts(N_SERVER)), N_SERVER, 0, 0.1)
    with pytest.raises(FlexNetError) as caught:
        measure_all(job, Cpu("fp32"), Journal(tmp_path / "j", {}), observe=print, warn=print)
    assert str(caught.value) == (
        "operator Repeat_101 (Repeat_2) cannot be measured: there is no PyTorch code for its kind; "
        "--device analytic estimates it"
    )
    assert not list(tmp_path.iterdir())


def test_without_its_line_in_the_registry_nothing_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = model()
    monkeypatch.delitem(OPERATORS, 2001)
    sentence = (
        r"^operator Scale_102 \(Scale\) is of kind 2001, which is not registered; "
        r"flexnet\.model\.operators\.OPERATORS\[2001\] = \.\.\. adds an OperatorKind$"
    )
    with pytest.raises(FlexNetError, match=sentence):
        roofline_table(graph, "a100", n_server=N_SERVER)
    with pytest.raises(FlexNetError, match=r"^kind Scale has number 2001, under which it is not registered; "):
        GraphBuilder("own", 64).add(Scale(), GraphBuilder("own", 64).input(8))
