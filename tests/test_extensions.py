"""Every extension point, used as a program uses it: a class by the public names, a line of registration, done."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import orjson
import pytest
from command_lines import errors_of

from flexnet import (
    CORRECTED,
    LINK_MODELS,
    MODELS,
    MOVES,
    OPERATORS,
    OUTPUTS,
    STARTS,
    TOPOLOGIES,
    Cluster,
    Config,
    Demand,
    FlexNetError,
    FlowRoutes,
    GraphBuilder,
    Layer,
    LinkModel,
    ModelGraph,
    ModelSpec,
    Move,
    MoveSpace,
    NetworkArrays,
    NoSettings,
    Operator,
    OperatorKind,
    Output,
    Passes,
    Plan,
    Registry,
    Settings,
    Start,
    StartPoints,
    Strategy,
    TaskArrays,
    Tensor,
    Timeline,
    Topology,
    TopologyFamily,
    build_network,
    build_topology,
    find_plan,
    make_problem,
    replay,
    roofline_table,
)
from flexnet.__main__ import main
from flexnet.commands.requests.search import search_request
from flexnet.commands.requests.search_flags import parse_search
from flexnet.plan.semantics import Semantics
from flexnet.search.settings import METHODS


class Negate(OperatorKind):
    """An operator kind: minus every element."""

    number, name = 2100, "Negate"

    def layer(self, x: Tensor) -> Layer:
        return Layer("Negate", [x])

    def flops(self, op: Operator) -> Passes:
        return Passes(op.outputs[0].volume, op.outputs[0].volume)


def toy_model(settings: NoSettings, batch_size: int) -> ModelGraph:
    """A model: two layers and what is between."""
    b = GraphBuilder("toy", batch_size)
    (x,) = b.add(Negate(), b.dense(b.input(512), 512))
    b.dense(x, 512)
    return b.build()


@dataclass(frozen=True)
class Line(TopologyFamily):
    """A topology family: every server is linked to the next."""

    name = "line"
    width: int = 1

    def build(self, n_server: int, demand: Demand | None, rng: np.random.Generator) -> Topology:
        links = np.eye(n_server, k=1, dtype=np.int64) + np.eye(n_server, k=-1, dtype=np.int64)
        return Topology("line", n_server, 0, self.width * links, {})

    def interfaces(self, n_server: int) -> int:
        return 2 * self.width


class Instant(LinkModel):
    """A link model: nothing takes any time but computing."""

    def seconds(self, tasks: TaskArrays, network: NetworkArrays, *, limit: float = np.inf, **more: Any) -> float:
        return self.timeline(tasks, network).seconds

    def timeline(
        self,
        tasks: TaskArrays,
        network: NetworkArrays,
        *,
        routes: FlowRoutes | None = None,
        directions: np.ndarray[Any, np.dtype[np.int8]] | None = None,
    ) -> Timeline:
        free = np.zeros(network.n_server)
        start, end = np.zeros(len(tasks.kind)), np.zeros(len(tasks.kind))
        waiting, ready = tasks.n_pred.copy(), np.zeros(len(tasks.kind))
        stack = np.flatnonzero(waiting == 0).tolist()
        while stack:
            task = stack.pop()
            start[task] = ready[task]
            if tasks.kind[task] <= 1:
                start[task] = max(ready[task], free[tasks.place[task]])
            end[task] = start[task] + (tasks.seconds[task] if tasks.kind[task] <= 1 else 0.0)
            if tasks.kind[task] <= 1:
                free[tasks.place[task]] = end[task]
            for after in tasks.succ[tasks.succ_ptr[task] : tasks.succ_ptr[task + 1]].tolist():
                ready[after] = max(ready[after], end[task])
                waiting[after] -= 1
                if waiting[after] == 0:
                    stack.append(after)
        return Timeline(float(end.max()), start, end)


class Onward(Move):
    """A strategy move: an operator to the servers next to its own."""

    def __init__(self, space: MoveSpace) -> None:
        super().__init__(space)
        self.n_server = space.problem.cluster.n_server

    def propose(self, rng: np.random.Generator, strategy: Strategy) -> Strategy | None:
        devices = strategy.devices.copy()
        op = int(rng.integers(len(devices)))
        used = devices[op] >= 0
        devices[op, used] = (devices[op, used] + 1) % self.n_server
        return Strategy(strategy.choice.copy(), devices, strategy.after.copy())


class Alone(Start):
    """A start: everything on the last server."""

    name = "lone-server"

    def points(
        self, space: MoveSpace, family: TopologyFamily, memory_limit: float | None, rng: np.random.Generator
    ) -> StartPoints:
        last = space.problem.cluster.n_server - 1
        ranks = [op.rank for op in space.problem.graph.operators]
        return StartPoints((tuple(Config((1,) * rank, (last,)) for rank in ranks),))


class Lines(Output):
    """An output format: what a person reads."""

    def write(self, plan: Plan, path: Path) -> tuple[str, ...]:
        path.write_text(plan.summary() + "\n")
        return ("summary.txt cannot be read back",)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    OPERATORS[2100] = Negate()
    MODELS["toy"] = ModelSpec("toy", "two layers", NoSettings, toy_model)
    TOPOLOGIES["line"] = Line
    LINK_MODELS["instant"] = Instant
    MOVES["onward"] = Onward
    STARTS["alone"] = Alone
    OUTPUTS["summary.txt"] = Lines
    yield
    registries: tuple[tuple[Any, Any], ...] = (
        (OPERATORS, 2100),
        (MODELS, "toy"),
        (TOPOLOGIES, "line"),
        (LINK_MODELS, "instant"),
        (MOVES, "onward"),
        (STARTS, "alone"),
        (OUTPUTS, "summary.txt"),
    )
    for registry, key in registries:
        del registry[key]


def test_in_a_program(tmp_path: Path) -> None:
    graph = MODELS["toy"].build({}, batch_size=64)
    cluster = Cluster(4, link_bandwidth=1e9, degree=2)
    problem = make_problem(graph, roofline_table(graph, "a100", n_server=4), cluster, CORRECTED)
    moves = {"onward": 1.0, "reconfigure": 2.0}
    settings = Settings("line", budget=50, method="mcmc", seed=1, start="alone", moves=moves)
    found = find_plan(problem, settings)
    assert found.start_name == "lone-server"
    assert found.start.configs["Negate_101"] == Config((1, 1), (3,))
    beside = find_plan(problem, Settings("line", budget=50, seed=1, start="alone", moves=moves))
    assert beside.start_name == "data-parallel"
    assert beside.seconds <= found.start.seconds < beside.start.seconds
    assert found.topology.links.tolist() == build_topology("line", 4).links.tolist()
    assert build_topology("line", 3, width=2).links.tolist() == [[0, 2, 0], [2, 0, 2], [0, 2, 0]]
    only = find_plan(problem, Settings("line", budget=20, start="alone", moves={"onward": 1.0}))
    assert all(config.degrees == (1, 1) for config in only.plan.configs.values())
    lone = replay(found.start.task_graph(), build_network("line", cluster), links=Instant())
    assert lone.seconds == pytest.approx(found.start.seconds)
    assert OUTPUTS["summary.txt"]().write(found.plan, tmp_path / "mine") == ("summary.txt cannot be read back",)
    assert "Negate_101" in (tmp_path / "mine").read_text()


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    flags = ("--nsimnode", "4", "--start", "alone", "--interface-bandwidth", "8", "--search-budget", "20")
    assert main(["search", "toy", "--topology", "line", *flags, "-o", str(out)]) == 0
    printed = capsys.readouterr()
    assert errors_of(printed.err) == []
    assert "topology   line: 3 links, 4 servers" in printed.out
    assert re.search(r"^best .* (faster|not faster) than the data-parallel start", printed.out, re.MULTILINE)
    assert "warning: summary.txt cannot be read back" in printed.err
    assert (out / "summary.txt").read_text().startswith("iteration  ")
    times = {}
    for model in ("fair", "instant"):
        words = ["simulate", str(out / "taskgraph.fbuf"), "--topology", "line", "--network", model, "--json"]
        assert main(words) == 0
        times[model] = orjson.loads(capsys.readouterr().out)["iteration_ms"]
    assert 0 < times["instant"] <= times["fair"]
    assert main(["models"]) == 0
    assert "toy           two layers\n" in capsys.readouterr().out
    assert main(["search", "toy", "--topology", "lin", "--nsimnode", "4"]) == 2
    assert "did you mean line?" in capsys.readouterr().err


def test_a_name_may_have_capitals(capsys: pytest.CaptureFixture[str]) -> None:
    TOPOLOGIES["Mine"] = Line
    try:
        assert main(["search", "toy", "--topology", "mine", "--nsimnode", "4", "--search-budget", "5"]) == 0
    finally:
        del TOPOLOGIES["Mine"]
    assert "4 servers; Mine, " in capsys.readouterr().out


@pytest.mark.compiled
def test_a_start_may_be_replaced() -> None:
    graph = MODELS["toy"].build({}, batch_size=64)
    problem = make_problem(graph, roofline_table(graph, "a100", n_server=4), Cluster(4, link_bandwidth=1e3), CORRECTED)
    data = STARTS["data"]
    STARTS["data"] = Alone
    try:
        found = [find_plan(problem, Settings("fattree", 0, method=name, start="data")) for name in METHODS]
    finally:
        STARTS["data"] = data
    for plan in (one.plan for one in found):
        assert plan.configs["Negate_101"] == Config((1, 1), (3,))  # all else waits for slow links


@dataclass(frozen=True)
class Tiers(TopologyFamily):
    """A family with a flag of its own beside those of the cluster."""

    name: ClassVar[str] = "Tiers"
    degree: int = 4
    ports: int = 8
    semantics: Semantics | None = None

    def build(self, n_server: int, demand: Demand | None, rng: np.random.Generator) -> Topology:
        return build_topology("random", n_server, degree=self.degree)

    def interfaces(self, n_server: int) -> int:
        return self.degree


def test_a_family_gets_its_own_flags_and_those_of_the_cluster() -> None:
    TOPOLOGIES["tiers-of-mine"] = Tiers
    try:
        words = ("toy", "--topology", "tiers-of-mine", "--nsimnode", "8", "--node-degree", "3", "--ports", "6")
        request = search_request(parse_search(words))
        table = roofline_table(request.graph, "a100", n_server=8)
        family = request.settings.family(make_problem(request.graph, table, request.cluster, request.semantics))
    finally:
        del TOPOLOGIES["tiers-of-mine"]
    assert family == Tiers(3, 6, CORRECTED)
    assert request.settings.topology_name == "tiers-of-mine"
    assert request.settings.to_dict()["topology_parameters"] == {"ports": 6}


def test_parameters_go_with_a_name() -> None:
    with pytest.raises(FlexNetError, match=r"^width is given beside a family, which has parameters of its own$"):
        build_topology(Line(), 4, width=3)


@pytest.mark.parametrize("registry", [TOPOLOGIES, LINK_MODELS, MOVES, STARTS, OUTPUTS], ids=lambda item: item.what)
def test_registries_name_what_they_have(registry: Registry[Any]) -> None:
    assert len(registry) == len(list(registry)) >= 3
    assert all(name in registry and registry[name] is registry[name] for name in registry)
    name = next(iter(registry))
    with pytest.raises(Exception, match=rf"^unknown {registry.what} '{name}x'; did you mean {name}\?$"):
        registry[name + "x"]
    with pytest.raises(Exception, match=rf"^unknown {registry.what} 'qqqq'; choose {name}, "):
        registry.check("qqqq")
