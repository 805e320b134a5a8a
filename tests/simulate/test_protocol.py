import numpy as np
import pytest
from fbuf_samples import task_graph

from flexnet.plan.task_kinds import ALLREDUCE, FORWARD
from flexnet.simulate.protocol import PACKET, TCP
from flexnet.simulate.short_cuts import cut_short, short_cuts


@pytest.mark.parametrize(("size", "cut"), [(35_999, False), (36_000, True), (54_000, True), (54_001, False)])
def test_small_all_reduces_of_the_packet_simulator_are_told(size, cut):
    graph = task_graph(8, [(FORWARD, 0, 1e-3, 0), (ALLREDUCE, 0, 0.0, size)], [(0, 1)], [(0, 2, 4, 6)])
    assert bool(cut_short(np.array([4]), np.array([size]), PACKET)[0]) is cut
    assert not cut_short(np.array([4]), np.array([size]), TCP).any()
    remarks = short_cuts(graph)
    assert len(remarks) == cut
    assert all("of 1 small all-reduce" in text and "one round in place of 2 (g - 1)" in text for text in remarks)
