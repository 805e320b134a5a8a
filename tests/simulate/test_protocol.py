import numpy as np
import pytest
from fbuf_samples import task_graph

from flexnet.cost.roofline import roofline_table
from flexnet.model.zoo import MODELS
from flexnet.network.build import build_network
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import make_strategy
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import ALLREDUCE, FORWARD
from flexnet.search.moves.space import make_space
from flexnet.search.starts.data_parallel import data_parallel
from flexnet.simulate import short_cuts as module
from flexnet.simulate.protocol import PACKET, TCP
from flexnet.simulate.short_cuts import all_rounds, cut_short, short_cuts


@pytest.mark.parametrize(("size", "cut"), [(35_999, False), (36_000, True), (54_000, True), (54_001, False)])
def test_small_all_reduces_of_the_packet_simulator_are_told(size, cut):
    graph = task_graph(8, [(FORWARD, 0, 1e-3, 0), (ALLREDUCE, 0, 0.0, size)], [(0, 1)], [(0, 2, 4, 6)])
    assert bool(cut_short(np.array([4]), np.array([size]), PACKET)[0]) is cut
    assert not cut_short(np.array([4]), np.array([size]), TCP).any()
    remarks = short_cuts(graph)
    assert len(remarks) == cut
    assert all("of 1 small all-reduce" in text and "one round in place of 2 (g - 1)" in text for text in remarks)


@pytest.mark.compiled
@pytest.mark.parametrize("topology", ["fattree", "random"])
def test_with_all_rounds_plans_of_many_transfers_take_about_as_many_times_as_long(topology, monkeypatch):
    """Priced by what tasks send, where one by one a million transfers would never end."""
    flags = {"--arch-embedding-size": "-".join(["10000"] * 8), "--arch-sparse-feature-size": "64"}
    widths = {"--arch-mlp-bot": "64-64", "--arch-mlp-top": "1-128-128-128-128-1"}
    graph = MODELS["dlrm"].build({**flags, **widths}, batch_size=1024)
    cluster = Cluster(16, link_bandwidth=1e9, degree=2)
    problem = make_problem(graph, roofline_table(graph, "a100", n_server=16, big_gpu=0), cluster, CORRECTED)
    space = make_space(problem, strided=True, parameter_parallel=False, ordered=False)
    tasks = build(problem, make_strategy(problem, data_parallel(np.random.default_rng(0), space)))
    network = build_network(topology, cluster)
    one_by_one = all_rounds(tasks, network, fair=True)
    monkeypatch.setattr(module, "MANY_TRANSFERS", 0)
    assert all_rounds(tasks, network, fair=True) == pytest.approx(one_by_one, rel=0.05)
    assert one_by_one > 1.1
