"""Which of many strategies are worth a price."""

from collections.abc import Sequence

import numpy as np

from flexnet.exact.plan_bounds import bound_with_strategy
from flexnet.network.family import TopologyFamily
from flexnet.plan.problem import Problem
from flexnet.plan.strategy import Strategy
from flexnet.plan.task_graph_builder import build

__all__ = ["most_promising"]


def most_promising(
    problem: Problem, family: TopologyFamily, strategies: Sequence[Strategy], most: int
) -> tuple[Strategy, ...]:
    """The first of them by what they take at least on any network of the family."""
    graphs = (build(problem, strategy) for strategy in strategies)
    least = [bound_with_strategy(graph, problem.cluster, family).seconds for graph in graphs]
    return tuple(strategies[i] for i in np.argsort(least, kind="stable")[:most].tolist())
