"""The plain heap against a dictionary."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from flexnet.simulate.kernels.heap import Heap, pop, push


@given(st.lists(st.one_of(st.none(), st.integers(0, 5))))
@settings(deadline=None)
def test_items_come_out_by_time(steps):
    """A number adds an item at that time, none takes one out."""
    heap = Heap(np.zeros(len(steps)), np.zeros(len(steps), np.int64), np.zeros(1, np.int64))
    times = {}
    for item, time in enumerate(steps):
        if time is not None:
            push(heap, float(time), item)
            times[item] = time
        elif times:
            earliest = min(times.values())
            assert heap.times[0] == earliest
            assert times.pop(int(pop(heap))) == earliest
        assert heap.n[0] == len(times)
