"""Memory that a strategy needs on a server."""

import numpy as np
import numpy.typing as npt

from flexnet.model.graph import Operator
from flexnet.plan.problem import Problem
from flexnet.plan.strategy import Strategy

__all__ = ["largest_part", "memory_needed"]


def memory_needed(problem: Problem, strategy: Strategy) -> float:
    """Bytes the fullest server needs: measured memory per GPU times the GPUs that share the part.

    A part of an embedding lies on one GPU, so a server needs GPUs as large as its largest table.
    """
    arrays, per_part = problem.arrays, _per_part(problem, strategy)
    used = np.zeros(problem.cluster.n_server)
    placed = strategy.devices >= 0
    np.add.at(used, strategy.devices[placed], np.broadcast_to(per_part[:, None], placed.shape)[placed])
    largest_table = (per_part * arrays.is_whole).max()  # it must fit one GPU of its server
    return max(float(used.max()), float(largest_table) * problem.cluster.gpus)


def largest_part(problem: Problem, strategy: Strategy) -> tuple[Operator, float]:
    """The operator whose parts need most memory, and the bytes a server needs for one as `memory_needed` counts."""
    whole = np.where(problem.arrays.is_whole, problem.cluster.gpus, 1)
    needed = _per_part(problem, strategy) * whole
    return problem.graph.operators[int(needed.argmax())], float(needed.max())


def _per_part(problem: Problem, strategy: Strategy) -> npt.NDArray[np.int64]:
    """Bytes of a server for one part of each operator, int64 (n_op,)."""
    candidates = problem.arrays.candidate_ptr[:-1] + strategy.choice
    return np.asarray(problem.arrays.memory[candidates] * problem.gpus_of_part, np.int64)
