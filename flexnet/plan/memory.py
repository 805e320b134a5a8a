"""Memory that a strategy needs on a server."""

import numpy as np
import numpy.typing as npt

from flexnet.model.graph import Operator
from flexnet.plan.problem import Problem
from flexnet.plan.stages import stages_of
from flexnet.plan.strategy import Strategy

__all__ = ["largest_part", "memory_by_server", "memory_needed"]


def memory_needed(problem: Problem, strategy: Strategy) -> float:
    """Bytes the fullest server needs: measured memory per GPU times the GPUs that share the part.

    A part of an embedding lies on one GPU, so a server needs GPUs as large as its largest table.
    """
    per_part = _per_part(problem, strategy)
    largest_table = (per_part * problem.arrays.is_whole).max()  # it must fit one GPU of its server
    return max(float(_by_server(problem, strategy, per_part).max()), float(largest_table) * problem.cluster.gpus)


def memory_by_server(problem: Problem, strategy: Strategy) -> npt.NDArray[np.float64]:
    """Bytes that the parts on every server need, on all its GPUs together: float64 (n_server,)."""
    return _by_server(problem, strategy, _per_part(problem, strategy))


def largest_part(problem: Problem, strategy: Strategy) -> tuple[Operator, float]:
    """The operator whose parts need most memory, and the bytes a server needs for one as `memory_needed` counts."""
    whole = np.where(problem.arrays.is_whole, problem.cluster.gpus, 1)
    needed = _per_part(problem, strategy) * whole
    return problem.graph.operators[int(needed.argmax())], float(needed.max())


def _by_server(problem: Problem, strategy: Strategy, per_part: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    op, column = np.nonzero(strategy.devices >= 0)
    used = np.bincount(strategy.devices[op, column], per_part[op], problem.cluster.n_server)
    return np.asarray(used, np.float64)


def _per_part(problem: Problem, strategy: Strategy) -> npt.NDArray[np.int64]:
    """Bytes of a server for one part of each operator, int64 (n_op,)."""
    arrays = problem.arrays
    candidates = arrays.candidate_ptr[:-1] + strategy.choice
    memory = arrays.memory[candidates]
    if problem.micro_batches > 1:
        memory = memory + (stages_of(problem, strategy).under_way - 1) * arrays.kept[candidates]
    return np.asarray(memory * problem.gpus_of_part, np.int64)
