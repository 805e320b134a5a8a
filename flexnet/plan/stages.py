"""The stages of a pipeline, as micro-batches go through them."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.plan.arrays import Strategy
from flexnet.plan.kernels.micro_batches import find_stages
from flexnet.plan.problem import Problem

__all__ = ["Stages", "stages_of"]

Ints = npt.NDArray[np.int64]


class Stages(NamedTuple):
    """Of every operator, int64 (n_op,) each.

    Parameters
    ----------
    behind : stages that come after its own, on the way to the end of the model
    under_way : micro-batches that are under way there at once at most
    """

    behind: Ints
    under_way: Ints


def stages_of(problem: Problem, strategy: Strategy) -> Stages:
    """In which stage every operator is: how often no server has both an operator and one that reads it."""
    n_op = len(strategy.choice)
    stages = Stages(np.empty(n_op, np.int64), np.empty(n_op, np.int64))
    find_stages(problem.arrays, strategy, *stages, np.empty(problem.cluster.n_server, np.int64))
    return stages
