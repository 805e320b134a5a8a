"""A problem with fewer layers, on fewer servers."""

from dataclasses import replace
from types import MappingProxyType

from flexnet.model.graph import ModelGraph, Operator
from flexnet.plan.problem import Problem, make_problem

__all__ = ["excerpt", "kept_operators", "stand_ins"]


def kept_operators(graph: ModelGraph) -> tuple[int, ...]:
    """Of every operator the one that stands for it where repeated blocks have three repetitions.

    The first and the last stand for themselves, for they have other neighbours; the second stands for all others.
    """
    kept = list(range(len(graph.operators)))
    for block in graph.blocks:
        for ops in block.repetitions[2:-1]:
            for k, op in enumerate(ops):
                kept[op] = block.first + block.length + k
    return tuple(kept)


def stand_ins(graph: ModelGraph) -> tuple[int, ...]:
    """Of every operator the number that the one that stands for it has in an `excerpt`."""
    kept = kept_operators(graph)
    at = _numbers(kept)
    return tuple(at[op] for op in kept)


def excerpt(problem: Problem, n_server: int) -> Problem:
    """The problem with three repetitions of every repeated block, on ``n_server`` servers.

    `stand_ins` tells which of its operators stands for which of the problem's.

    Parameters
    ----------
    problem : Problem
    n_server : int
        At most those of the problem.  Configs with more parts are left out.
    """
    graph, kept = problem.graph, kept_operators(problem.graph)
    at = _numbers(kept)
    operators = tuple(_renumbered(graph.operators[op], kept, at) for op in at)
    short = ModelGraph(graph.name, graph.batch_size, operators, graph.dtype)
    cluster = replace(problem.cluster, n_server=n_server)
    table = replace(problem.table, n_server=n_server)
    parallel = problem.parallel.of_operators(list(at))
    return make_problem(
        short, table, cluster, problem.semantics, micro_batches=problem.micro_batches, parallel=parallel
    )


def _numbers(kept: tuple[int, ...]) -> dict[int, int]:
    return {op: i for i, op in enumerate(sorted(set(kept)))}


def _renumbered(op: Operator, kept: tuple[int, ...], at: dict[int, int]) -> Operator:
    """An operator that reads those that stand for the ones it read."""
    inputs = tuple(source if source.op is None else replace(source, op=at[kept[source.op]]) for source in op.inputs)
    tied = {i: (at[kept[other]], weight) for i, (other, weight) in op.tied.items()}
    return replace(op, index=at[op.index], inputs=inputs, tied=MappingProxyType(tied))
