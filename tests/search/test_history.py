"""How a search went: every gain is there, memory is bounded, and what is written is read as it was."""

from dataclasses import replace

import orjson
import pytest

from flexnet import CORRECTED, MODELS, Cluster, Settings, make_problem, roofline_table
from flexnet.search.driver import Progress
from flexnet.search.history import MOST_POINTS, History
from flexnet.search.jobs import run
from flexnet.search.prepare import prepare
from flexnet.search.prepared import Prepared
from flexnet.search.state import Info, State


def ready(budget: int, jobs: int = 1) -> Prepared:
    graph = MODELS["dlrm"].build({}, batch_size=64)
    problem = make_problem(graph, roofline_table(graph, "a100", n_server=4), Cluster(4, 1.25e9), CORRECTED)
    return prepare(problem, Settings("topoopt", budget=budget, jobs=jobs))


def observed(search: Prepared) -> tuple[History, State]:
    history = History.begin(search.state)
    return history, run(search, search.state, observe=history.observe).state


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.compiled)])
def test_every_proposal_is_counted_by_what_was_tried(jobs: int) -> None:
    search = ready(120, jobs)
    history, state = observed(search)
    assert sum(tally.proposals for tally in history.tallies.values()) == state.iteration == 121
    assert "start" in history.tallies and len(history.tallies) > 3
    assert len(history.starts) == 1 + history.tallies["start"].proposals
    assert history.starts[0] == ("data-parallel", search.state.current.seconds)
    kinds = {"data-parallel", "dynamic-programming", "groups", "cut-groups", "heavy-recuts", "heavy-sets", "stages"}
    assert {name for name, _ in history.starts} <= kinds
    best = [point.best for point in history.points]
    assert best == sorted(best, reverse=True) and best[-1] == state.best.seconds
    assert history.last.origin == state.best.origin != ""
    gained = sum(tally.gained for tally in history.tallies.values())
    if jobs == 1:
        assert gained == pytest.approx(best[0] - best[-1])


def test_what_is_written_is_read_as_it_was() -> None:
    history, state = observed(ready(40))
    again = History.from_json(orjson.loads(history.to_json()))
    assert again.to_json() == history.to_json()
    assert again.earlier_s == pytest.approx(history.last.elapsed, abs=1e-4)
    assert again.improved_at == history.improved_at is not None
    for off in (-1e-10, 1e-10):  # as what is written may be
        points = [point._replace(best=point.best + off) for point in again.points]
        resumed = replace(again, points=points, best=state.best.seconds)
        seconds = state.best.seconds
        progress = Progress(1, 9, seconds, seconds, True, seconds, 1.0)
        resumed.observe(progress, state, Info(seconds, False, False, False, False, "nothing"))
        assert resumed.improved_at == history.improved_at
        assert resumed.tallies["nothing"].gained == 0.0


def test_long_searches_keep_few_points_and_every_first_and_last() -> None:
    state = ready(0).state
    history = History.begin(state)
    plan = state.current
    for n in range(1, 5000):
        current = plan._replace(seconds=plan.seconds * (1 - n / 10**4)) if n % 7 == 0 else plan
        best = min(history.last.best, current.seconds)
        state = replace(state, iteration=n, current=current, best=plan._replace(seconds=best))
        progress = Progress(n, 5000, 1.0, 1.0, True, best, n / 100)
        history.observe(progress, state, Info(1.0, True, True, False, False, "recut"))
        assert len(history.points) <= MOST_POINTS + 1
    assert history.points[0].elapsed == 0.0
    assert history.last.best == state.best.seconds
    assert history.tallies["recut"].proposals == 4999
