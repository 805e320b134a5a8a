"""Compiled loops of the link models.

`fair` and `fifo` run a task graph, an event at a time, each for its link model.  Beside `fair`: `rings` (links and
rounds of all-reduces), `flow_classes` (flows begin and end; latency and connections are added), `maxmin` (rates),
`link_loads` (bytes a link), `server_queues` (computing); `heap` and `libstdcxx_heap` hold what comes next.
What comes in are arrays (`flexnet.simulate.arrays`) and protocol constants, what goes out are times.  Everything here
is compiled by `flexnet.kernels`, which says how and when, and runs as plain Python with ``NUMBA_DISABLE_JIT=1``.
May import `flexnet.kernels`, the kinds of tasks, and what stands beside it here.
"""
