"""Micro-batches: parts of the batch, after all of which gradients are reduced.

Servers that share no operator along some edge of the model are stages of a pipeline, where one computes a micro-batch
while the next computes the one before (GPipe, arXiv:1811.06965).  Each runs forward and backward passes by turns, and
has few micro-batches under way, whose activations it keeps (1F1B; PipeDream, arXiv:1806.03377): of a stage with k
others after it 2k + 1, as many as hide the transfers between stages behind compute (eager 1F1B; Y. Zhuang et al.,
arXiv:2211.05322).  Where all lies on the same servers that is gradient accumulation, with one.
"""

from flexnet.kernels import inlined, kernel
from flexnet.plan.kernels.records import add_record

__all__ = ["count_under_way", "order_micro_batches"]

NONE = -1


@kernel
def count_under_way(problem, strategy, found, last):  # type: ignore[no-untyped-def]
    """How many micro-batches of every operator are under way at once at most.

    Parameters
    ----------
    problem : flexnet.plan.arrays.ProblemArrays
    strategy : flexnet.plan.arrays.Strategy
    found : int64 (n_op,)
        Is written to.
    last : int64 (n_server,)
        To work in.
    """
    _find_stages(problem, strategy, found, last)
    for op in range(found.shape[0]):
        found[op] = _under_way(problem, found[op])


@inlined
def order_micro_batches(problem, strategy, work):  # type: ignore[no-untyped-def]
    """Let parts wait for those of micro-batches before, whose tasks are all there; ``work.first`` is of the first one.

    What reads from another stage waits for its own gradients of the micro-batch that makes room.  What reads nothing
    of its own stage begins it, and waits until its server has gone through the stage with the micro-batch before; with
    one under way that is so already, for gradients come later.
    """
    n_op = problem.rank.shape[0]
    n_part = work.n_part[0]
    _find_stages(problem, strategy, work.stage, work.last)
    most = 0
    for op in range(n_op):
        work.begins[op] = True
        work.enters[op] = False
        most = max(most, work.stage[op])
    for edge in range(problem.edge_src.shape[0]):
        if work.stage[problem.edge_src[edge]] == work.stage[problem.edge_dst[edge]]:
            work.begins[problem.edge_dst[edge]] = False
        else:
            work.enters[problem.edge_dst[edge]] = True
    for stage in range(most + 1):
        for op in range(n_op):
            if work.stage[op] == stage:
                for j in range(problem.parts[problem.candidate_ptr[op] + strategy.choice[op]]):
                    work.last[strategy.devices[op, j]] = work.first[op] + 2 * j
        under_way = _under_way(problem, stage)
        for op in range(n_op):
            begins = work.begins[op]
            if work.stage[op] == stage and (begins or work.enters[op]):
                for j in range(problem.parts[problem.candidate_ptr[op] + strategy.choice[op]]):
                    forward = work.first[op] + 2 * j
                    last = work.last[strategy.devices[op, j]]
                    for batch in range(1, problem.micro_batches):
                        if begins and under_way > 1:
                            add_record(work, last + (batch - 1) * n_part, forward + batch * n_part)
                        if batch >= under_way:
                            before = forward + 1 + (batch - under_way) * n_part
                            add_record(work, before, forward + batch * n_part)


@inlined
def _under_way(problem, stage):  # type: ignore[no-untyped-def]
    """Micro-batches under way in a stage with as many after it as its number."""
    return min(2 * stage + 1, problem.micro_batches)


@inlined
def _find_stages(problem, strategy, stage, last):  # type: ignore[no-untyped-def]
    """Set the stage of every operator: how often, on the way to the end of the model, no server has both operators."""
    stage[:] = 0
    last[:] = NONE
    for i in range(problem.edge_src.shape[0]):  # those of later consumers first
        edge = problem.edge_src.shape[0] - 1 - i
        src, dst = problem.edge_src[edge], problem.edge_dst[edge]
        for j in range(problem.parts[problem.candidate_ptr[dst] + strategy.choice[dst]]):
            last[strategy.devices[dst, j]] = edge
        apart = 1
        for j in range(problem.parts[problem.candidate_ptr[src] + strategy.choice[src]]):
            if last[strategy.devices[src, j]] == edge:
                apart = 0
        stage[src] = max(stage[src], stage[dst] + apart)
