"""Networks in words."""

import numpy as np
import pytest
from random_models import in_micro_batches, mlp, problem_of

from flexnet.network.build import build_network
from flexnet.plan.cluster import Cluster
from flexnet.plan.strategy import Config, make_strategy
from flexnet.search.find import find_plan
from flexnet.search.plan import price
from flexnet.search.plan_text import stages_text, topology_text
from flexnet.search.settings import Settings

CLUSTER = Cluster(8, 0, 1e9, 1e9, 1e-6)


def test_rings_by_the_same_jumps_everywhere_are_told_by_these():
    settings = Settings("topoopt", 0, strided=True, start="data")
    plan = find_plan(problem_of(mlp(), CLUSTER), settings).plan
    text = topology_text(plan, settings)
    cycles = plan.cycles
    assert len(cycles) == 4 and text.endswith("for groups of 8")
    told = text.split("jumps ")[1].split(" for")[0].split()
    assert [int(jump) for jump in told] == [(cycle[1] - cycle[0]) % 8 for cycle in cycles]

    at = cycles[0][1:3]  # one of the rings visits two servers the other way round
    other = (cycles[0][0], at[1], at[0], *cycles[0][3:])
    network = build_network("fc", CLUSTER, rng=np.random.default_rng(0)).with_cycles((other, *cycles[1:]))
    turned = price(plan.problem, plan.strategy, network)
    assert topology_text(turned, Settings("fc", 0)).endswith("; 4 rings for groups of 8")


@pytest.mark.parametrize(
    ("servers", "text"),
    [
        ([0, 0, 0, 0], ""),
        ([1, 1, 0, 0], "2 stages on 2 sets of 1 server; the first on 1"),
        ([2, 3, 2, 3], "4 stages on 2 sets of 1 server, by turns; the first on 2"),
        ([0, 1, 2, 0], "4 stages on 3 sets of 1 server, by turns; the first on 0"),
    ],
)
def test_stages_are_told_with_who_has_them(servers, text):
    problem = in_micro_batches(problem_of(mlp(4), CLUSTER), 2)
    strategy = make_strategy(problem, [Config((1, 1), (server,)) for server in servers])
    plan = price(problem, strategy, build_network("fc", CLUSTER))
    assert stages_text(plan) == text


def test_of_micro_batches_the_bound_is_said_to_be_of_those():
    problem = problem_of(mlp(4), CLUSTER)
    assert "bound      no plan takes less than" in find_plan(problem, Settings("fc", 0)).summary()
    found = find_plan(in_micro_batches(problem, 2), Settings("fc", 0)).summary()
    assert "bound      no plan in 2 micro-batches takes less than" in found
