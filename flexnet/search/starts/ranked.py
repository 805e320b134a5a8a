"""Which of many strategies are worth a price."""

from collections.abc import Iterable

import numpy as np

from flexnet.exact.plan_bounds import bound_with_strategy
from flexnet.interrupts import check
from flexnet.network.family import TopologyFamily
from flexnet.plan.problem import Problem
from flexnet.plan.strategy import Strategy
from flexnet.plan.task_graph_builder import Builder, build

__all__ = ["most_promising"]

MOST_WORK = 6_000_000  # tasks, and pairs of servers, of all strategies that are looked at: some seconds


def most_promising(
    problem: Problem, family: TopologyFamily, strategies: Iterable[Strategy], most: int
) -> tuple[Strategy, ...]:
    """The first by what they take at least on any network of a family, of as many as can soon be looked at, if any.

    Parameters
    ----------
    problem : Problem
    family : TopologyFamily
    strategies : iterable of Strategy
        Those that come again are looked at once.
    most : int

    Raises
    ------
    GivenUp
        If nobody waits for them any more (`flexnet.interrupts`).
    """
    cluster, builder = problem.cluster, Builder(problem)
    pairs, route = cluster.n_server**2, family.route_bandwidth(cluster)
    if pairs > MOST_WORK:
        return ()
    known, found, least, work = set[tuple[bytes, bytes]](), list[Strategy](), list[float](), 0
    for strategy in strategies:
        check()
        key = strategy.choice.tobytes(), strategy.devices.tobytes()
        if key in known:
            continue
        known.add(key)
        copies = builder.alike(strategy)
        size = len(copies) + pairs
        if max(size, work) > MOST_WORK:
            break
        work += size
        graph = build(problem, strategy, builder, any_order=True)
        found.append(strategy)
        least.append(bound_with_strategy(graph, cluster, family, copies=copies, route=route).seconds)
    return tuple(found[i] for i in np.argsort(least, kind="stable")[:most].tolist())
