"""Layers cut as is best for one of them, in stages on servers of their own.

A model's layers are alike (`flexnet.model.graph.ModelGraph.blocks`), so an additive model of three of them, with what
is before and behind, is solved in a tenth of a second where that of all takes minutes; and it may be solved for as few
servers as a stage has.  What it finds are experts on servers of their own, products cut along what they put out and
the next ones along what they sum over, and whatever else is best for these layers.
"""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from flexnet.exact.frontier import frontier
from flexnet.exact.solver import solve
from flexnet.exact.terms import measured_terms, place
from flexnet.network.family import TopologyFamily
from flexnet.plan.excerpt import excerpt, stand_ins
from flexnet.plan.memory import memory_needed
from flexnet.plan.problem import Problem
from flexnet.plan.strategy import Config, Strategy, make_strategy
from flexnet.search.moves.hold import all_held
from flexnet.search.moves.space import MoveSpace
from flexnet.search.starts.layers import is_layered, stage_counts, stages_of
from flexnet.search.starts.start import Start, StartPoints

__all__ = ["LayerCuts"]

SHARES = ((1.0, 1.0), (0.25, 0.25))  # of all-reduces and transfers, that compute does not hide


class LayerCuts(Start):
    """Optima of additive models of a layer in stages, and of each number of stages the fastest that fits.

    Where links may be any, one stage on half of the servers too: the others forward for them, over twice the interfaces
    that stages one after the other would have.
    """

    name: ClassVar[str] = "layer-cuts"

    def points(
        self, space: MoveSpace, family: TopologyFamily, memory_limit: float | None, rng: np.random.Generator
    ) -> StartPoints:
        """Those that fit into memory, each also with reductions that wait.  Nothing is left to chance."""
        problem, n_server = space.problem, space.problem.cluster.n_server
        if not any(is_layered(problem.graph, block) for block in problem.graph.blocks):
            return StartPoints(())
        per_byte, found = 1.0 / family.server_bandwidth(problem.cluster), dict[tuple[Config, ...], Strategy]()
        ways = [(n_stage, n_server // n_stage) for n_stage in stage_counts(problem)]
        if family.any_links and n_server % 2 == 0:
            ways.append((1, n_server // 2))
        for n_stage, size in ways:
            left = len(SHARES)
            for configs in _staged(problem, n_stage, size, per_byte, strided=space.strided):
                strategy = make_strategy(problem, configs)
                if memory_limit is None or memory_needed(problem, strategy) <= memory_limit:
                    found.setdefault(configs, strategy)
                    left -= 1
                if not left:
                    break
        return StartPoints((*found.values(), *all_held(space, found.values())))


def _staged(
    problem: Problem, n_stage: int, size: int, per_byte: float, *, strided: bool
) -> Iterator[tuple[Config, ...]]:
    """Optima of additive models on ``size`` servers a stage, then trade-offs of time and memory, fastest first."""
    stages, standing = stages_of(problem.graph, n_stage), stand_ins(problem.graph)
    short = excerpt(problem, size)
    terms = measured_terms(short, strided=strided)

    def of_all(choices: tuple[int, ...]) -> tuple[Config, ...]:
        placed = place(short, terms, choices, strided=strided)
        configs = (placed[i] for i in standing)
        return tuple(
            Config(config.degrees, tuple(stage * size + device for device in config.devices))
            for config, stage in zip(configs, stages, strict=True)
        )

    for reduce, move in SHARES:
        yield of_all(solve(terms.tables(per_byte, reduce=reduce, move=move)).choices)
    for point in reversed(frontier(terms.tables(per_byte), terms.memory)):
        yield of_all(point.choices)
