"""Compiled loops of the link models.

A file a mechanism: queues of events, paths, rings, shares of links, and a loop that runs a task graph for each model.
What comes in are arrays (`flexnet.simulate.arrays`) and protocol constants, what goes out are times.  Everything here
is compiled by `flexnet.kernels`, which says how and when, and runs as plain Python with ``NUMBA_DISABLE_JIT=1``.
May import `flexnet.kernels`, the kinds of tasks, and what stands beside it here.
"""
