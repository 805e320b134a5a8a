"""Strategies that are optimal under additive costs.

Simulated time is not additive, for communication hides behind compute.  So several additive models are solved exactly,
which differ in how much communication they count; the simulator prices what they find, beside data parallelism.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import ClassVar

import numpy as np

from flexnet.exact.frontier import frontier
from flexnet.exact.solver import solve
from flexnet.exact.terms import Terms, place
from flexnet.interrupts import check
from flexnet.model.cutting import batch_degrees
from flexnet.network.family import TopologyFamily
from flexnet.plan.memory import memory_needed
from flexnet.plan.problem import Problem
from flexnet.plan.strategy import Config, make_strategy
from flexnet.search.moves.space import MoveSpace
from flexnet.search.starts.start import Start, StartPoints

__all__ = ["DynamicProgramming"]

BANNED = 1e6  # seconds of a cut that is not to be chosen
SHARES = ((1.0, 1.0), (0.5, 0.5), (0.25, 0.25), (0.0, 1.0), (0.0, 0.0))  # of all-reduces and transfers


class DynamicProgramming(Start):
    """Optima of several additive models; if none fits into memory, the fastest trade-off that does, and the leanest."""

    name: ClassVar[str] = "dynamic-programming"

    def points(
        self, space: MoveSpace, family: TopologyFamily, memory_limit: float | None, rng: np.random.Generator
    ) -> StartPoints:
        """The optima, without repetition; nothing is left to chance."""
        problem = space.problem
        terms = space.terms(strided=space.strided)
        per_byte = 1.0 / family.server_bandwidth(problem.cluster)
        found: dict[tuple[Config, ...], None] = {}
        for choices in _selections(problem, terms, per_byte):
            found[tuple(place(problem, terms, choices, strided=space.strided))] = None
        if memory_limit is not None:
            needed = [memory_needed(problem, make_strategy(problem, configs)) for configs in found]
            if min(needed) > memory_limit:
                for choices in _trade_offs(terms, per_byte, memory_limit):
                    found[tuple(place(problem, terms, choices, strided=space.strided))] = None
        return StartPoints(tuple(found))


def _selections(problem: Problem, terms: Terms, per_byte: float) -> Iterator[tuple[int, ...]]:
    """Of all cuts, and of those of the batch alone, which send so much less at a time that no model here tells it."""
    banned = []
    for choices, rank in zip(terms.degrees, problem.arrays.rank.tolist(), strict=True):
        other = np.array([degrees != batch_degrees(rank, prod(degrees)) for degrees in choices])
        banned.append(BANNED * (other & ~other.all()))
    of_batch_alone = not any(extra.any() for extra in banned)
    for reduce, move in SHARES:
        check()
        tables = terms.tables(per_byte, reduce=reduce, move=move)
        yield solve(tables).choices
        if not of_batch_alone:
            vertices = tuple(own + extra for own, extra in zip(tables.vertices, banned, strict=True))
            yield solve(replace(tables, vertices=vertices)).choices


def _trade_offs(terms: Terms, per_byte: float, memory_limit: float) -> Iterator[tuple[int, ...]]:
    """The fastest that fits, and the leanest: tables lie on several servers, so it may need less than it seems."""
    points = frontier(terms.tables(per_byte), terms.memory)
    yield from [point.choices for point in points if point.memory <= memory_limit][-1:]
    yield points[0].choices
