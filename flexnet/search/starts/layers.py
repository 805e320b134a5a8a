"""Layers dealt out over servers, or their weights cut, where data parallelism does not fit into memory.

A model's layers are alike (`flexnet.model.graph.ModelGraph.blocks`), so what is decided for one holds for all.  Dealt
out, consecutive layers lie on one of 2, 4, ... sets of servers, each cut along the batch over its set.  Cut, every
operator that has weights is cut along its output channels or what it sums over, others along what they share with
these, over 2, 4, ... servers, and along the batch over the rest.
"""

from collections.abc import Callable
from math import prod
from typing import ClassVar

import numpy as np

from flexnet.cost.table import Entry
from flexnet.model.cutting import divisors, partial_sums, side_by_side
from flexnet.model.graph import ModelGraph, Operator, RepeatedBlock
from flexnet.model.operators import kind_of
from flexnet.network.family import TopologyFamily
from flexnet.plan.memory import memory_needed
from flexnet.plan.problem import Problem
from flexnet.plan.strategy import Config, make_strategy
from flexnet.search.moves.space import MoveSpace
from flexnet.search.starts.start import Start, StartPoints

__all__ = ["Layers", "is_layered", "many_layered", "stage_counts", "stages_of"]

# Operators of repeated blocks that read one another, for which dynamic programming takes minutes.
MANY_LAYERED = 400

MOST_STAGES = 8  # where all servers of one wait for those of the others
MOST_PIPELINED = 64

MOST_TASKS = 1_000_000  # of a strategy that cuts weights, about: what cuts unlike its neighbours has many transfers

Configs = tuple[Config, ...]


class Layers(Start):
    """Over as few sets of servers as fit, dealt out and cut; none where data parallelism fits, or without layers."""

    name: ClassVar[str] = "layers"

    def points(
        self, space: MoveSpace, family: TopologyFamily, memory_limit: float | None, rng: np.random.Generator
    ) -> StartPoints:
        """The first of either that fits; of both the leanest if none does.  Nothing is left to chance."""
        problem = space.problem
        if memory_limit is None or not problem.graph.blocks:
            return StartPoints(())
        degrees, found, needed = divisors(problem.cluster.n_server, problem.cluster.n_server), list[Configs](), {}
        if _memory(problem, _dealt(problem, 1)) <= memory_limit:
            return StartPoints(())
        makers: tuple[Callable[[Problem, int], Configs], ...] = (_dealt, _cut)
        for make in makers:
            for degree in degrees[1:]:
                tasks = 2 * problem.cluster.n_server * degree * len(problem.graph.operators) * problem.micro_batches
                if make is _cut and tasks > MOST_TASKS:
                    break
                configs = make(problem, degree)
                needed[configs] = _memory(problem, configs)
                if needed[configs] <= memory_limit:
                    found.append(configs)
                    break
        return StartPoints(tuple(found) or (min(needed, key=needed.__getitem__),) if needed else ())


def _memory(problem: Problem, configs: Configs) -> float:
    return memory_needed(problem, make_strategy(problem, configs))


def stage_counts(problem: Problem) -> list[int]:
    """In how many stages a model may be, on as many servers each: more if they work on several micro-batches."""
    n_server = problem.cluster.n_server
    return divisors(n_server, min(n_server, MOST_STAGES if problem.micro_batches == 1 else MOST_PIPELINED))


def stages_of(graph: ModelGraph, n_set: int) -> tuple[int, ...]:
    """Of every operator in which of ``n_set`` runs of layers it is, with what lies before it and behind the last."""
    layers = [layer for block in graph.blocks for layer in block.repetitions]
    starts = {layer[0]: i * n_set // len(layers) for i, layer in enumerate(layers)}
    found = [0]
    for op in graph.operators:
        found.append(starts.get(op.index, found[-1]))
    return tuple(found[1:])


def is_layered(graph: ModelGraph, block: RepeatedBlock) -> bool:
    """Whether a repetition of a block reads what the one before gives: layers do, tables of embeddings do not."""
    before, here, *_ = block.repetitions
    return any(source.op in before for at in here for source in graph.operators[at].inputs if source.op is not None)


def many_layered(graph: ModelGraph) -> bool:
    """Whether layers have so many operators that dynamic programming takes minutes."""
    return sum(block.length * block.count for block in graph.blocks if is_layered(graph, block)) >= MANY_LAYERED


def _dealt(problem: Problem, n_set: int) -> Configs:
    """Layers of all repeated blocks in ``n_set`` runs, each over its set of servers, with what lies between."""
    size = problem.cluster.n_server // n_set
    stages = stages_of(problem.graph, n_set)
    configs = []
    for op, entries, stage in zip(problem.graph.operators, problem.candidates, stages, strict=True):
        degrees = _by_batch(op, entries, size)
        configs.append(Config(degrees, tuple(range(stage * size, stage * size + prod(degrees)))))
    return tuple(configs)


def _cut(problem: Problem, degree: int) -> Configs:
    """Weights cut ``degree`` times; each shape is decided once."""
    n_server = problem.cluster.n_server
    found: dict[tuple[object, ...], Config] = {}
    classes = problem.classes()
    for same, op, entries in zip(classes, problem.graph.operators, problem.candidates, strict=True):
        if same not in found:
            degrees = _with_weights_cut(op, entries, n_server, degree)
            found[same] = Config(degrees, tuple(side_by_side(range(prod(degrees)), partial_sums(degrees, op.rank))))
    return tuple(found[same] for same in classes)


def _by_batch(op: Operator, entries: tuple[Entry, ...], most: int) -> tuple[int, ...]:
    """The config that cuts the batch alone, over as many servers as may be."""
    batch = op.rank - 1
    options = [entry.degrees for entry in entries if prod(entry.degrees) == entry.degrees[batch] <= most]
    return max(options, key=prod) if options and not kind_of(op).whole else entries[0].degrees


def _with_weights_cut(op: Operator, entries: tuple[Entry, ...], n_server: int, degree: int) -> tuple[int, ...]:
    """The config over all servers that cuts weights, or else features, ``degree`` times, and the batch for the rest.

    Of several, the one that needs least memory, then least time; the batch alone, if there is none.
    """
    batch = op.rank - 1
    fitting = [
        entry
        for entry in entries
        if prod(entry.degrees) == n_server and entry.degrees[batch] == n_server // degree and _one_other(entry, batch)
    ]
    if not fitting:
        return _by_batch(op, entries, n_server)
    return min(fitting, key=lambda entry: (entry.memory, entry.forward + entry.backward)).degrees


def _one_other(entry: Entry, batch: int) -> bool:
    """Whether at most one dimension beside the batch is cut, and that is the innermost or a reduction."""
    others = [k for k, n in enumerate(entry.degrees) if n > 1 and k != batch]
    return len(others) <= 1 and all(k in (0, batch + 1) for k in others)
