"""Micro-batches: what runs for each and what once, in which order, what that takes, and what memory it needs."""

from collections import Counter
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import in_micro_batches, mlp, random_configs, random_problem, waiting

from flexnet import Cluster, FlexNetError, build_network, replay
from flexnet.cost.table import CostTable, Entry
from flexnet.plan.memory import memory_by_server
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import CORRECTED, ORIGINAL, Semantics
from flexnet.plan.stages import stages_of
from flexnet.plan.strategy import Config, Strategy, make_strategy
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, FORWARD, NOMINAL_COMM
from flexnet.search.floor import pipeline_seconds

MS = 1e-3

Edges = Counter[tuple[int, int]]


def edges(graph: TaskGraph) -> Edges:
    source = np.repeat(np.arange(graph.n_task), np.diff(graph.succ_ptr))
    return Counter(zip(source.tolist(), graph.succ.tolist(), strict=True))


def stages(problem: Problem, strategy: Strategy) -> list[int]:
    """Of every operator, how often servers change altogether at most from there to the end of the model."""
    servers = [set(row[row >= 0].tolist()) for row in strategy.devices]
    reads = [(source.op, op.index) for op in problem.graph.operators for source in op.inputs if source.op is not None]

    def stage(op: int) -> int:
        return max((stage(v) + servers[op].isdisjoint(servers[v]) for u, v in reads if u == op), default=0)

    return [stage(op) for op in range(len(servers))]


def in_passes(problem: Problem, strategy: Strategy, graph: TaskGraph, waits: Edges, n_part: int) -> None:
    """Every server goes through its passes one after the other, and what enters a stage waits until there is room.

    ``waits`` are edges besides those of every micro-batch, whose parts come first in ``graph``, ``n_part`` tasks each.
    """
    stage_of, n_batch = stages(problem, strategy), problem.micro_batches
    reads = [(source.op, op.index) for op in problem.graph.operators for source in op.inputs if source.op is not None]
    within = [(a, b) for a, b in reads if stage_of[a] == stage_of[b]]
    inner = {b for _, b in within}, {a for a, _ in within}  # neither begin a stage, nor end it
    enters = {b for a, b in reads if stage_of[a] != stage_of[b]}
    passes: dict[tuple[int, int, int, int], list[int]] = {}
    for task in range(n_part * n_batch):
        key = int(graph.place[task]), stage_of[graph.op[task]], task // n_part, int(graph.kind[task] == BACKWARD)
        passes.setdefault(key, []).append(task)
    assert all(n == 1 and graph.place[a] == graph.place[b] for (a, b), n in waits.items())
    server_of = {tasks[0 if way else -1]: server for (server, _, _, way), tasks in passes.items()}  # of last tasks
    before_passes, first_on = set[int](), set[int]()
    for (server, stage, batch, way), tasks in passes.items():
        before_this = set[int | None]()
        room = batch - min(2 * stage + 1, n_batch)
        for task in tasks:
            op, waits_for = int(graph.op[task]), {a for a, b in waits if b == task}
            begins, gradients = op not in inner[way], set[int]()
            is_first = begins or task == (tasks[-1] if way else tasks[0])
            if way == 0 and room >= 0 and (begins or op in enters):
                gradients = {task + 1 + (room - batch) * n_part}
            assert waits_for >= gradients and (is_first or waits_for == gradients)
            if is_first:
                own = {task - 1} if way and task - 1 in server_of else set[int]()  # for which it waits anyway
                before_this.add(next(iter(waits_for - gradients or gradients or own), None))
                assert len(waits_for - gradients) <= 1
        (last,) = before_this  # for which all that is first waits
        if last is None:
            assert server not in first_on
            first_on.add(server)
        else:
            assert server_of[last] == server and last not in before_passes
            before_passes.add(last)
    assert len(first_on) + len(before_passes) == len(passes)


@pytest.mark.parametrize("semantics", [CORRECTED, ORIGINAL], ids=lambda s: s.name)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_each_runs_the_model_and_gradients_are_reduced_once(semantics: Semantics, seed: int) -> None:
    rng = np.random.default_rng(seed)
    once = random_problem(rng, semantics)
    configs = random_configs(rng, once)
    configs = waiting(rng, once, configs) if semantics is CORRECTED else configs
    n_batch = int(rng.integers(2, 5))
    problem = in_micro_batches(once, n_batch)
    one, all_ = build(once, make_strategy(once, configs)), build(problem, make_strategy(problem, configs))
    all_.check()
    n_part, n_reduce = (int(np.isin(one.kind, kinds).sum()) for kinds in ((FORWARD, BACKWARD), (ALLREDUCE,)))
    n_transfer = one.n_task - n_part - n_reduce

    def number(task: int, batch: int) -> int:
        if task < n_part:
            return task + batch * n_part
        if task < n_part + n_reduce:
            return task + (n_batch - 1) * n_part
        return task + (n_batch - 1) * n_part + batch * n_transfer

    within = edges(one).items()
    repeated = Edges({(number(a, batch), number(b, batch)): n for (a, b), n in within for batch in range(n_batch)})
    assert edges(all_) >= repeated
    in_passes(problem, make_strategy(problem, configs), all_, edges(all_) - repeated, n_part)
    for task in range(one.n_task):
        for batch in range(n_batch):
            there = number(task, batch)
            for name in ("kind", "place", "seconds", "bytes", "op"):
                assert getattr(all_, name)[there] == getattr(one, name)[task]
    assert all_.rank is not None and one.rank is None
    assert (all_.rank % (2 * len(configs)) // 2 == all_.op).all()
    batch_of = all_.rank // (2 * len(configs))
    assert (np.diff(batch_of[np.isin(all_.kind, (FORWARD, BACKWARD))]) >= 0).all()
    assert (np.diff(batch_of[all_.kind == NOMINAL_COMM]) >= 0).all()


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_no_more_are_under_way_than_memory_counts(seed: int) -> None:
    """A part's forward pass needs its own backward pass of the micro-batch that makes room, whatever comes between."""
    rng = np.random.default_rng(seed)
    problem = in_micro_batches(random_problem(rng, CORRECTED), 6)
    strategy = make_strategy(problem, random_configs(rng, problem))
    graph = build(problem, strategy)
    waits = nx.DiGraph(list(edges(graph)))
    n_part = int((graph.kind <= BACKWARD).sum()) // 6
    under_way = stages_of(problem, strategy).under_way
    for task in range(0, n_part, 2):
        room = int(under_way[graph.op[task]])
        if room < 6:
            assert nx.has_path(waits, task + 1, task + room * n_part)


def chain(n_server: int, micro_batches: int, *, memory: int = 1000) -> Problem:
    """As many layers as servers, each 1 ms forward and 2 ms backward, on links that take no time."""
    graph = mlp(n_server, width=2, batch=12)
    entries = {op.key: (Entry((1, 1), 1 * MS, 2 * MS, memory),) for op in graph.operators}
    table = CostTable(graph.batch_size, n_server, entries, False, "m.json", {})
    cluster = Cluster(n_server, link_bandwidth=1e15, latency=0.0, degree=2)
    return make_problem(graph, table, cluster, CORRECTED, micro_batches=micro_batches)


def on_servers(problem: Problem, servers: list[int]) -> Strategy:
    return make_strategy(problem, [Config((1, 1), (server,)) for server in servers])


def milliseconds(problem: Problem, strategy: Strategy) -> float:
    network = build_network("fc", problem.cluster)
    return 1e3 * replay(build(problem, strategy), network, protocol="fluid").timeline.seconds


@pytest.mark.parametrize(("n_server", "n_batch"), [(1, 5), (2, 4), (3, 6), (4, 4), (4, 9)])
def test_a_pipeline_takes_as_long_as_its_last_stage_and_what_fills_it(n_server: int, n_batch: int) -> None:
    """The last of S servers computes M micro-batches without a pause, S - 1 forward passes after the first begins."""
    problem = chain(n_server, n_batch)
    strategy = on_servers(problem, list(range(n_server)))
    assert milliseconds(problem, strategy) == pytest.approx(3 * n_batch + 3 * (n_server - 1), rel=1e-6)


def by_turns(n_stage: int, n_batch: int, transfer: float = 0.0) -> tuple[Problem, Strategy]:
    """Four servers with so many stages of three layers each, the first of all servers before the second of any.

    A layer is 1 ms forward and 2 ms backward; what goes over takes so many ms.
    """
    graph = mlp(3 * 4 * n_stage, width=2, batch=12)
    entries = {op.key: (Entry((1, 1), 1 * MS, 2 * MS, 1000),) for op in graph.operators}
    table = CostTable(graph.batch_size, 4, entries, False, "m.json", {})
    bandwidth = 1e15 if transfer == 0.0 else graph.operators[0].outputs[0].n_byte / (transfer * MS)
    cluster = Cluster(4, link_bandwidth=bandwidth, latency=0.0, degree=3)
    problem = make_problem(graph, table, cluster, CORRECTED, micro_batches=n_batch)
    return problem, on_servers(problem, [op // 3 % 4 for op in range(3 * 4 * n_stage)])


@pytest.mark.parametrize("n_stage", [2, 3, 4])
@pytest.mark.parametrize("n_batch", [4, 5, 8])
def test_a_server_with_several_stages_goes_through_them_by_turns(n_stage: int, n_batch: int) -> None:
    """The last one pauses only for a forward pass on the others and a backward pass back, and layers are not mixed."""
    problem, strategy = by_turns(n_stage, n_batch)
    least = 3 * 3 * (n_batch * n_stage + 3)
    assert 1e3 * pipeline_seconds(problem, strategy) == pytest.approx(least)
    assert milliseconds(problem, strategy) == pytest.approx(least, rel=1e-6)


def test_backward_passes_that_are_ready_come_before_forward_ones() -> None:
    """Of 16 micro-batches a little is lost; the other way round it is 6 %."""
    assert milliseconds(*by_turns(4, 16)) <= 1.04 * 3 * 3 * (4 * 16 + 3)


@pytest.mark.parametrize("transfer", [1.0, 3.0])
def test_transfers_as_long_as_a_pass_are_hidden_but_for_those_of_the_first_and_the_last(transfer: float) -> None:
    """Four stages on each of four servers, eight micro-batches: three transfers before the last server, and three back.

    As they become ready, or laid out as if transfers took no time, passes would wait for 20 or more.
    """
    free, slow = milliseconds(*by_turns(4, 8)), milliseconds(*by_turns(4, 8, transfer))
    assert free + 2 * 3 * transfer * (1 - 1e-6) <= slow <= free + 2 * 4 * transfer * (1 + 1e-6)


def test_on_one_server_they_run_one_after_the_other() -> None:
    """Forward and backward of each, before the next: gradient accumulation."""
    problem = chain(3, 4)
    strategy = on_servers(problem, [1, 1, 1])
    graph = build(problem, strategy)
    timeline = replay(graph, build_network("fc", problem.cluster), protocol="fluid").timeline
    assert 1e3 * timeline.seconds == pytest.approx(3 * 3 * 4, rel=1e-6)
    compute = np.flatnonzero(graph.kind <= BACKWARD)
    batches = np.split(compute, 4)
    assert all(timeline.end[now].max() <= timeline.start[then].min() + 1e-12 for now, then in pairwise(batches))


def test_activations_of_all_that_are_under_way_are_kept() -> None:
    """Two after a stage let five be under way there, if there are so many; weights are there once."""
    weights = 4 * 2 * (2 * 2 + 2)  # of a layer and their gradients, 4 bytes each
    for n_batch, under_way in ((2, [2, 2, 1]), (9, [5, 3, 1])):
        problem = chain(3, n_batch)
        memory = memory_by_server(problem, on_servers(problem, [0, 1, 2]))
        assert memory.tolist() == [weights + n * (1000 - weights) for n in under_way]
        assert memory_by_server(problem, on_servers(problem, [2, 2, 2])).tolist() == [0, 0, 3000]
    once = chain(3, 1)
    assert memory_by_server(once, on_servers(once, [0, 1, 2])).tolist() == [1000] * 3
    lean = chain(3, 9, memory=8)  # less than its weights, as nothing that was measured
    assert memory_by_server(lean, on_servers(lean, [0, 1, 2])).tolist() == [8] * 3


def test_gradients_of_all_are_waited_for() -> None:
    """Of two parts in three micro-batches, by one all-reduce for each weight."""
    graph = mlp(1, width=4, batch=8)
    entries = {op.key: (Entry((1, 2), 1 * MS, 2 * MS, 100),) for op in graph.operators}
    table = CostTable(graph.batch_size, 2, entries, False, "m.json", {})
    problem = make_problem(graph, table, Cluster(2, degree=1), CORRECTED, micro_batches=3)
    tasks = build(problem, make_strategy(problem, [Config((1, 2), (0, 1))]))
    reduces = np.flatnonzero(tasks.kind == ALLREDUCE)
    assert len(reduces) == len(graph.operators[0].weights)
    for reduce_ in reduces.tolist():
        before = [task for task in range(tasks.n_task) if reduce_ in tasks.successors(task)]
        assert len(before) == 2 * 3 and (tasks.kind[before] == BACKWARD).all()


def test_there_is_one_at_least() -> None:
    problem = chain(2, 1)
    with pytest.raises(FlexNetError, match="micro_batches is 0; there must be one at least"):
        in_micro_batches(problem, 0)
