"""In which order servers go through stages and micro-batches: fixed, by edges of the task graph.

A pass is what a stage computes of a micro-batch, forward or backward.  A server that has several stages, and took what
is ready first, would go through several passes at once, operator by operator, and end them all late.  So passes are
laid out beforehand, each as soon as what it needs is through and its servers are free, as if all that goes from one
stage to another took longer than all compute: those come first that fewest transfers are before.  Of those that can
begin at once backward passes come before forward ones, and later stages before earlier ones.  That leaves as much time
for transfers as there are other passes, and costs next to nothing where links are fast.

Two stages on each of eight sets of servers take 1.03 times the least they can where links are fast, which was 1.30
without a fixed order; four on each 1.04, which was 1.82 (Mixtral 8x7B on 64 servers, 16 micro-batches;
benchmarks/QUALITY.md).
"""

import numpy as np

from flexnet.kernels import inlined
from flexnet.plan.kernels.records import add_record
from flexnet.plan.task_kinds import BACKWARD, FORWARD

__all__ = ["order_passes", "under_way"]

NONE = -1


@inlined
def order_passes(problem, strategy, work, n_stage):  # type: ignore[no-untyped-def]
    """Let the first tasks of every pass on a server wait for the last one, in the order of the model, of that before.

    Where some first task reads that last one anyway the edge is there twice.

    Parameters
    ----------
    problem : flexnet.plan.arrays.ProblemArrays
    strategy : flexnet.plan.arrays.Strategy
    work : flexnet.plan.arrays.Workspace
        ``stage`` is set, and parts of all micro-batches are there; ``first`` is of the first one.  ``last`` and
        ``passes`` are written to.
    n_stage : int
    """
    passes = work.passes
    _sort_operators(problem, work, n_stage)
    _find_neighbours(problem, work, n_stage)
    far = problem.micro_batches * _sum_up(problem, strategy, work, n_stage)
    work.last[:] = NONE
    passes.free[:] = 0.0
    passes.next[:, :n_stage] = 0
    passes.is_open[:, :n_stage] = False
    n_open = 0
    for stage in range(n_stage):
        n_open = _open(problem, passes, FORWARD, stage, far, n_open)
    while n_open > 0:
        place, best = 0, np.inf
        for i in range(n_open):
            way, stage = passes.open[i] % 2, passes.open[i] // 2
            start = max(passes.ready[way, stage], passes.free[passes.longest[way, stage]])
            if start < best or (start == best and _comes_before(passes.open[i], passes.open[place])):
                place, best = i, start
        way, stage = passes.open[place] % 2, passes.open[place] // 2
        n_open -= 1
        passes.open[place] = passes.open[n_open]
        passes.is_open[way, stage] = False
        _let_wait(problem, strategy, work, way, stage)
        _lay_out(passes, way, stage)
        n_open = _open(problem, passes, FORWARD, stage, far, n_open)
        n_open = _open(problem, passes, BACKWARD, stage, far, n_open)
        for i in range(passes.ptr[1 - way, stage], passes.ptr[1 - way, stage + 1]):
            n_open = _open(problem, passes, way, passes.neighbour[1 - way, i], far, n_open)


@inlined
def _comes_before(one, other):  # type: ignore[no-untyped-def]
    """Of two passes that can begin at once."""
    if one % 2 != other % 2:
        return one % 2 == BACKWARD
    return one < other


@inlined
def _sort_operators(problem, work, n_stage):  # type: ignore[no-untyped-def]
    """Set ``op`` and ``op_ptr`` to the operators of every stage, in the order of the model, and which are its ends.

    What reads nothing of its own stage begins it, and what nothing of its own stage reads ends it.
    """
    passes, n_op = work.passes, problem.rank.shape[0]
    passes.op_ptr[: n_stage + 1] = 0
    for op in range(n_op):
        passes.op_ptr[work.stage[op] + 1] += 1
        passes.begins[op] = True
        passes.ends[op] = True
        passes.enters[op] = False
    for stage in range(n_stage):
        passes.op_ptr[stage + 1] += passes.op_ptr[stage]
        passes.next[FORWARD, stage] = passes.op_ptr[stage]
    for op in range(n_op):
        stage = work.stage[op]
        passes.op[passes.next[FORWARD, stage]] = op
        passes.next[FORWARD, stage] += 1
    for edge in range(problem.edge_src.shape[0]):
        src, dst = problem.edge_src[edge], problem.edge_dst[edge]
        if work.stage[src] == work.stage[dst]:
            passes.begins[dst] = False
            passes.ends[src] = False
        else:
            passes.enters[dst] = True


@inlined
def _find_neighbours(problem, work, n_stage):  # type: ignore[no-untyped-def]
    """List the stages that every stage reads, for which its forward passes wait, and those that read it."""
    passes, stage = work.passes, work.stage
    passes.reads[:n_stage, :n_stage] = False
    passes.ptr[:, : n_stage + 1] = 0
    for edge in range(problem.edge_src.shape[0]):
        passes.reads[stage[problem.edge_dst[edge]], stage[problem.edge_src[edge]]] = True
    n_before, n_behind = 0, 0
    for one in range(n_stage):  # reads those of higher numbers, and is read by those of lower ones
        for other in range(one + 1, n_stage):
            if passes.reads[one, other]:
                passes.neighbour[FORWARD, n_before] = other
                n_before += 1
        for other in range(one):
            if passes.reads[other, one]:
                passes.neighbour[BACKWARD, n_behind] = other
                n_behind += 1
        passes.ptr[FORWARD, one + 1] = n_before
        passes.ptr[BACKWARD, one + 1] = n_behind


@inlined
def _sum_up(problem, strategy, work, n_stage):  # type: ignore[no-untyped-def]
    """Seconds of every pass on every server, below 0 where it is not; their sum, each where it is ``longest``."""
    passes = work.passes
    passes.seconds[:, :n_stage] = -1.0
    for op in range(problem.rank.shape[0]):
        candidate = problem.candidate_ptr[op] + strategy.choice[op]
        for way in range(2):
            seconds = problem.forward[candidate] if way == FORWARD else problem.backward[candidate]
            for j in range(problem.parts[candidate]):
                at = passes.seconds[way, work.stage[op]]
                server = strategy.devices[op, j]
                at[server] = max(at[server], 0.0) + seconds
    total = 0.0
    for way in range(2):
        for stage in range(n_stage):
            at = passes.seconds[way, stage]
            longest = 0
            for server in range(problem.n_server):
                if at[server] > at[longest]:
                    longest = server
            passes.longest[way, stage] = longest
            total += at[longest]
    return total


@inlined
def _open(problem, passes, way, stage, far, n_open):  # type: ignore[no-untyped-def]
    """Add the next pass of a stage to those that are open, if what it needs is laid out; returns how many there are."""
    batch = passes.next[way, stage]
    if passes.is_open[way, stage] or batch == problem.micro_batches:
        return n_open
    ready = 0.0
    if way == BACKWARD:
        ready = _end(passes, FORWARD, stage, batch)
    elif batch >= under_way(problem, stage):
        ready = _end(passes, BACKWARD, stage, batch - under_way(problem, stage))
    for i in range(passes.ptr[way, stage], passes.ptr[way, stage + 1]):
        ready = max(ready, _end(passes, way, passes.neighbour[way, i], batch) + far)
    if ready == np.inf:
        return n_open
    passes.ready[way, stage] = ready
    passes.is_open[way, stage] = True
    passes.open[n_open] = 2 * stage + way
    return n_open + 1


@inlined
def _end(passes, way, stage, batch):  # type: ignore[no-untyped-def]
    """When a pass ends that is laid out; no time for others."""
    return passes.end[way, stage, batch] if batch < passes.next[way, stage] else np.inf


@inlined
def _lay_out(passes, way, stage):  # type: ignore[no-untyped-def]
    """Let the next pass of a stage take its time on all its servers."""
    ready, end = passes.ready[way, stage], 0.0
    for server in range(passes.free.shape[0]):
        seconds = passes.seconds[way, stage, server]
        if seconds >= 0.0:
            passes.free[server] = max(passes.free[server], ready) + seconds
            end = max(end, passes.free[server])
    passes.end[way, stage, passes.next[way, stage]] = end
    passes.next[way, stage] += 1


@inlined
def _let_wait(problem, strategy, work, way, stage):  # type: ignore[no-untyped-def]
    """Add what the next pass of a stage waits for, and put its last tasks in ``work.last``.

    First on a server is what begins the pass, and what comes first there.  Besides, what reads from another stage, or
    of its own nothing, waits for its own gradients of the micro-batch that makes room.
    """
    passes, n_part = work.passes, work.n_part[0]
    batch = passes.next[way, stage]
    room = batch - under_way(problem, stage) if way == FORWARD else NONE
    begin, end = passes.op_ptr[stage], passes.op_ptr[stage + 1]
    passes.is_there[:] = False
    for i in range(begin, end):
        op = passes.op[i] if way == FORWARD else passes.op[begin + end - 1 - i]
        begins = passes.begins[op] if way == FORWARD else passes.ends[op]
        for j in range(problem.parts[problem.candidate_ptr[op] + strategy.choice[op]]):
            server, task = strategy.devices[op, j], work.first[op] + 2 * j
            last = work.last[server]
            first = begins or not passes.is_there[server]
            passes.is_there[server] = True
            if first and last >= 0 and (way == FORWARD or last != task + batch * n_part):  # for which it waits anyway
                add_record(work, last, task + batch * n_part + way)
            gradients = task + room * n_part + BACKWARD
            if room >= 0 and (begins or passes.enters[op]) and not (first and gradients == last):
                add_record(work, gradients, task + batch * n_part)
    for i in range(begin, end):
        op = passes.op[i] if way == FORWARD else passes.op[begin + end - 1 - i]
        for j in range(problem.parts[problem.candidate_ptr[op] + strategy.choice[op]]):
            work.last[strategy.devices[op, j]] = work.first[op] + 2 * j + batch * n_part + way


@inlined
def under_way(problem, stage):  # type: ignore[no-untyped-def]
    """Micro-batches under way in a stage with as many after it as its number."""
    return min(2 * stage + 1, problem.micro_batches)
