"""Which pipelines are priced, and in what order."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import in_micro_batches, mlp, problem_of, random_configs, random_problem

from flexnet import MODELS, Cluster, build_network, complete_table, find_plan, replay, roofline_table
from flexnet.network.build import family_of
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config, Strategy, make_strategy
from flexnet.plan.task_graph_builder import build, count_tasks
from flexnet.plan.task_kinds import ALLREDUCE
from flexnet.search import prepare as preparing
from flexnet.search.floor import pipeline_seconds
from flexnet.search.moves.space import make_space
from flexnet.search.portfolio import Portfolio
from flexnet.search.prepare import prepare
from flexnet.search.settings import Settings
from flexnet.search.starts import kinds, stages
from flexnet.search.starts.stages import Stages


@given(seed=st.integers(0, 2**32 - 1), micro_batches=st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_tasks_are_counted_before_they_are_laid_out(seed: int, micro_batches: int) -> None:
    """All-reduces, which are few, once for every micro-batch; and none hands on."""
    rng = np.random.default_rng(seed)
    problem = in_micro_batches(random_problem(rng, replace(CORRECTED, relay_transfers=False)), micro_batches)
    strategies = [make_strategy(problem, random_configs(rng, problem)) for _ in range(3)]
    for strategy, n in zip(strategies, count_tasks(problem, strategies), strict=True):
        graph = build(problem, strategy)
        assert n == graph.n_task + (micro_batches - 1) * int((graph.kind == ALLREDUCE).sum())


@pytest.mark.parametrize("n_stage", [1, 2, 4])
def test_a_stage_has_all_micro_batches_and_others_one_around_them(n_stage: int) -> None:
    """No plan is faster, though links take nothing."""
    graph = mlp(4)
    problem = in_micro_batches(problem_of(graph, Cluster(4, link_bandwidth=1e30)), 6)
    entries = [next(e for e in found if e.degrees == (1, 1)) for found in problem.candidates]
    strategy = make_strategy(problem, [Config((1, 1), (op * n_stage // 4,)) for op in range(4)])
    stages = np.array([op * n_stage // 4 for op in range(4)])
    each = np.bincount(stages, [e.forward + e.backward for e in entries])
    least = max(6 * each[s] + each[:s].sum() for s in range(n_stage))
    assert pipeline_seconds(problem, strategy) == pytest.approx(least)
    network = build_network("fattree", problem.cluster)
    assert least <= replay(build(problem, strategy), network, protocol="fluid").timeline.seconds * (1 + 1e-9)


@pytest.mark.parametrize("n_server", [1, 3])
def test_what_others_compute_is_told_apart_from_communication(n_server: int) -> None:
    """As it is, for no network saves it: layers on servers of their own fill the pipeline and empty it."""
    graph = mlp(3)
    problem = in_micro_batches(problem_of(graph, Cluster(4, link_bandwidth=1e9)), 6)
    configs = {op.name: Config((1, 1), (op.index % n_server,)) for op in graph.operators}
    found = find_plan(problem, Settings("fc", 0), start=configs)
    entries = [next(e for e in candidates if e.degrees == (1, 1)) for candidates in problem.candidates]
    each = np.bincount(np.arange(3) % n_server, [e.forward + e.backward for e in entries])
    others = max(6 * each[s] + each[:s].sum() for s in range(n_server)) - 6 * each.max()
    assert found.compute == pytest.approx(6 * each.max())
    assert found.others_compute == pytest.approx(others, abs=1e-9 * found.seconds)
    assert (found.exposed > found.others_compute) == (n_server > 1)
    assert found.to_dict()["others_compute_ms"] == pytest.approx(1e3 * others, abs=1e-6 * found.seconds)
    assert (" of it while others have to compute" in found.summary()) == (n_server > 1)


@pytest.mark.compiled
def test_promising_pipelines_come_first_and_huge_ones_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    flags: dict[str, str | int] = {"--hidden-size": 256, "--intermediate-size": 512, "--num-heads": 4}
    graph = MODELS["llama"].build({**flags, "--num-kv-heads": 2, "--num-layers": 8, "--sequence-length": 64}, 8)
    table = complete_table(roofline_table(graph, "h100", n_server=8, over_all=False), graph)
    problem = make_problem(graph, table, Cluster(8, link_bandwidth=50e9), CORRECTED, micro_batches=4)
    monkeypatch.setattr(preparing, "LATER_TASKS", 1_000_000)

    def begun() -> tuple[list[float], int]:
        ready = prepare(problem, Settings("topoopt", 0))
        assert ready.state.schedule is not None and isinstance(ready.search, Portfolio)
        pending, pricer = ready.state.schedule.pending, ready.search.pricer
        return [pricer.floor(strategy, 4) for strategy in pending], max(count_tasks(problem, pending))

    least, most = begun()
    distinct = len({f"{seconds:.6g}" for seconds in least})
    assert len(least) > 2 * distinct > 20, "some differ in the servers alone"
    assert least[:distinct] == sorted(least[:distinct]) and least[distinct - 1] > 2 * least[0]
    monkeypatch.setattr(kinds, "MOST_PRICED", most - 1)
    fewer, most_of_fewer = begun()
    assert 0 < len(fewer) < len(least) and most_of_fewer < most


def test_pipelines_may_leave_servers_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many servers have much to reduce; where there are too many such starts, those on large sets are kept."""
    graph = MODELS["llama"].build({"--hidden-size": 64, "--num-heads": 4, "--num-kv-heads": 2, "--num-layers": 8}, 8)
    table = complete_table(roofline_table(graph, "h100", n_server=8, over_all=False), graph)
    problem = make_problem(graph, table, Cluster(8, link_bandwidth=50e9), CORRECTED, micro_batches=4)
    space, family = make_space(problem, strided=False), family_of("topoopt", degree=4, semantics=CORRECTED)

    def used() -> list[tuple[int, int]]:
        """Servers of an operator, and in all."""
        starts = Stages().points(space, family, None, np.random.default_rng(0)).strategies
        devices = [start.devices for start in starts if isinstance(start, Strategy)]
        sizes = ((int((of[1] >= 0).sum()), len(set(of[of >= 0].tolist()))) for of in devices)
        return [size for size in sizes if size[1] < 8]

    assert {(4, 4), (2, 4), (1, 4), (2, 2), (1, 2), (1, 1)} <= set(used())
    monkeypatch.setattr(stages, "MOST", 2)
    assert set(used()) == {(4, 4), (2, 2)}


def test_what_cannot_win_is_not_laid_out() -> None:
    """Of micro-batches, on networks whose links are dealt out and on others."""
    for topology in ("topoopt", "fc"):
        problem = in_micro_batches(problem_of(mlp(3), Cluster(4, link_bandwidth=1e9)), 6)
        ready = prepare(problem, Settings(topology, 0))
        assert isinstance(ready.search, Portfolio)
        current, builder = ready.state.best, ready.search.pricer._builder
        strategy = make_strategy(problem, [Config((1, 1), (0,))] * 3)
        limit = pipeline_seconds(problem, strategy)
        rng, before = np.random.default_rng(0), builder.n_built
        plan, on_own, built = ready.search._price(rng, strategy, current, 0.99 * limit, 1.0)
        assert (plan.seconds, on_own, built, builder.n_built) == (np.inf, False, False, before)
        plan, _, _ = ready.search._price(rng, strategy, current, 1.5 * limit, 0.0)
        assert plan.seconds < np.inf and builder.n_built > before


def test_sets_of_servers_may_have_stages_in_turn() -> None:
    """Of eight layers and four servers each has two, and what fills and empties the pipeline is half as long."""
    flags: dict[str, str | int] = {"--hidden-size": 256, "--intermediate-size": 512, "--num-heads": 4}
    flags |= {"--vocabulary-size": 64}
    graph = MODELS["llama"].build({**flags, "--num-kv-heads": 2, "--num-layers": 8, "--sequence-length": 64}, 4)
    table = complete_table(roofline_table(graph, "h100", n_server=4, over_all=False), graph)
    problem = make_problem(graph, table, Cluster(4, link_bandwidth=50e9), CORRECTED, micro_batches=4)
    space, family = make_space(problem, strided=False), family_of("topoopt", degree=4, semantics=CORRECTED)
    starts = Stages().points(space, family, None, np.random.default_rng(0)).strategies
    least: dict[int, float] = {}
    for strategy in starts:
        assert isinstance(strategy, Strategy)
        first = strategy.devices[:, 0].tolist()  # by operator; layers come one after the other
        n_run = sum(here != before for before, here in pairwise(first)) + 1
        if (strategy.devices >= 0).sum(axis=1).max() == 1:
            least[n_run] = min(least.get(n_run, np.inf), pipeline_seconds(problem, strategy))
    whole = sum(entries[0].forward + entries[0].backward for entries in problem.candidates)
    assert whole < least[8] < 0.85 * least[4] < 0.85 * whole / 4 * (4 + 3) * 1.01
