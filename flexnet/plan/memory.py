"""Memory that a strategy needs on a server."""

import numpy as np

from flexnet.plan.problem import Problem
from flexnet.plan.strategy import Strategy

__all__ = ["memory_needed"]


def memory_needed(problem: Problem, strategy: Strategy) -> float:
    """Bytes the fullest server needs: measured memory per GPU times the GPUs that share the part.

    A part of an embedding lies on one GPU, so a server needs GPUs as large as its largest table.
    """
    arrays = problem.arrays
    candidates = arrays.candidate_ptr[:-1] + strategy.choice
    per_part = arrays.memory[candidates] * problem.gpus_of_part
    used = np.zeros(problem.cluster.n_server)
    placed = strategy.devices >= 0
    np.add.at(used, strategy.devices[placed], np.broadcast_to(per_part[:, None], placed.shape)[placed])
    largest_table = (per_part * arrays.is_whole).max()  # it must fit one GPU of its server
    return max(float(used.max()), float(largest_table) * problem.cluster.gpus)
