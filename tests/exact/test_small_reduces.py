"""What all-reduces send at least, where the packet simulator cuts small ones short."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import deal, ring_rounds

from flexnet.cost.roofline import roofline_table
from flexnet.exact.small_reduces import ring_bytes
from flexnet.model.builder import GraphBuilder
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.search.find import find_plan
from flexnet.search.settings import Settings
from flexnet.simulate.protocol import PACKET
from flexnet.units import gbps_to_bytes_per_s


@given(size=st.integers(1, 10**8), n=st.integers(2, 200), most=st.integers(1, 8))
def test_no_division_over_rings_sends_less(size: int, n: int, most: int) -> None:
    least = ring_bytes(np.array([float(size)]), np.array([n]), PACKET.small_packet_bytes, most).item()
    for n_ring in range(1, most + 1):
        rounds, own = ring_rounds(n, size, n_ring, PACKET)
        assert least <= rounds * own * n_ring * (1 + 1e-12)
        parts = [part for part in deal(n, size, n_ring, 0, PACKET)[0] if part is not None]
        each = [ring_rounds(n, part, 1, PACKET) for part in parts]
        assert least <= sum(rounds * own for rounds, own in each) * (1 + 1e-12)
    rounds, own = ring_rounds(n, size, 1, PACKET)
    assert ring_bytes(np.array([float(size)]), np.array([n]), PACKET.small_packet_bytes, 1).item() == pytest.approx(
        rounds * own
    )


@pytest.mark.compiled
@pytest.mark.parametrize("topology", ["fattree", "topoopt"])
def test_layers_whose_gradients_go_around_once(topology: str) -> None:
    """Of weights below 9000 bytes a server the packet simulator reduces an eighth of what a ring would."""
    b = GraphBuilder("small", 64)
    x = b.input(96)
    for _ in range(12):
        x = b.dense(x, 96)
    graph = b.build()
    cluster = Cluster(8, link_bandwidth=gbps_to_bytes_per_s(0.5), degree=2)
    problem = make_problem(graph, roofline_table(graph, "a100", n_server=8, big_gpu=0), cluster, CORRECTED)
    found = find_plan(problem, Settings(topology, 0, strided=True, start="data"))
    assert found.bound is not None
    for seconds in (found.bound.seconds, *(bound.seconds for bound in found.fixed)):
        assert seconds <= found.plan.timeline.seconds
