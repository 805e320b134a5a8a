"""Micro-batches: parts of the batch, after all of which gradients are reduced.

Servers that share no operator along some edge of the model are stages of a pipeline, where one computes a micro-batch
while the next computes the one before (GPipe, arXiv:1811.06965).  Each runs forward and backward passes by turns, and
has few micro-batches under way, whose activations it keeps (1F1B; PipeDream, arXiv:1806.03377): of a stage with k
others after it 2k + 1, as many as hide the transfers between stages behind compute (eager 1F1B; Y. Zhuang et al.,
arXiv:2211.05322).  Where all lies on the same servers that is gradient accumulation, with one.
"""

from flexnet.kernels import inlined, kernel
from flexnet.plan.kernels.passes import order_passes, under_way

__all__ = ["find_stages", "order_micro_batches"]

NONE = -1


@kernel
def find_stages(problem, strategy, stage, found, last):  # type: ignore[no-untyped-def]
    """How many stages are behind that of every operator, and how many micro-batches are under way there at most.

    Parameters
    ----------
    problem : flexnet.plan.arrays.ProblemArrays
    strategy : flexnet.plan.arrays.Strategy
    stage, found : int64 (n_op,)
        Are written to.
    last : int64 (n_server,)
        To work in.
    """
    _find_stages(problem, strategy, stage, last)
    for op in range(found.shape[0]):
        found[op] = under_way(problem, stage[op])


@inlined
def order_micro_batches(problem, strategy, work):  # type: ignore[no-untyped-def]
    """Let parts wait for those of micro-batches before (`order_passes`), whose tasks are all there."""
    _find_stages(problem, strategy, work.stage, work.last)
    most = 0
    for op in range(problem.rank.shape[0]):
        most = max(most, work.stage[op])
    order_passes(problem, strategy, work, most + 1)


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
