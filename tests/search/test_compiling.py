"""What is compiled beside a search."""

import multiprocessing

import pytest
from random_models import problem_of, tower

from flexnet import Cluster, Settings, find_plan
from flexnet.network.kernels import balance, circulants, cycles, held_routes, relays, routes, shares, tours
from flexnet.plan.kernels.steps import are_matchings
from flexnet.plan.semantics import CORRECTED
from flexnet.search import compiling
from flexnet.simulate.kernels.packets import simulate_packets
from flexnet.simulate.kernels.rings import edge_bytes
from flexnet.taskgraph_file.kernels import hash_order

LAST = (
    simulate_packets,
    edge_bytes,
    hash_order,
    routes.coin_routes,
    routes.coin_table,
    routes.shortest,
    balance.balance,
    cycles.closed_path,
    cycles.two_cycles,
    shares.highest_averages,
    tours.find_tour,
    tours.find_tours,
    circulants.busiest_jumps,
    held_routes.kept,
    held_routes.over_any,
    held_routes.replaced,
    relays.grow_trees,
    are_matchings,
)


@pytest.mark.compiled
def test_it_compiles_what_a_search_needs():
    compiling.compile_last()
    compiled = [set(kernel.signatures) for kernel in LAST]
    assert all(compiled)
    problem = problem_of(tower(), Cluster(8, link_bandwidth=1e9, latency=1e-6, degree=4), CORRECTED)
    find_plan(problem, Settings("topoopt", budget=60))
    assert [set(kernel.signatures) for kernel in LAST] == compiled


def test_nothing_is_compiled_that_is_kept(monkeypatch):
    monkeypatch.setattr(compiling, "is_kept", lambda _: True)
    with compiling.Compiling():
        assert not multiprocessing.active_children()


def test_the_process_ends_with_the_search(monkeypatch):
    monkeypatch.setattr(compiling, "is_kept", lambda _: False)
    monkeypatch.setattr(compiling, "compile_last", lambda: multiprocessing.Event().wait())
    with compiling.Compiling():
        assert len(multiprocessing.active_children()) == 1
    assert not multiprocessing.active_children()
