"""Networks in words."""

import numpy as np
from random_models import mlp, problem_of

from flexnet.network.build import build_network
from flexnet.plan.cluster import Cluster
from flexnet.search.find import find_plan
from flexnet.search.plan import price
from flexnet.search.plan_text import topology_text
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
