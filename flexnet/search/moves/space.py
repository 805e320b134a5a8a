"""What moves need to know of a problem, and how a config is drawn."""

from dataclasses import dataclass, field
from math import prod

import numpy as np

from flexnet.exact.terms import Terms, measured_terms
from flexnet.model.operators import kind_of
from flexnet.plan.problem import Problem
from flexnet.search.moves.blocks import Blocks, make_blocks

__all__ = ["MoveSpace", "make_space"]


@dataclass(frozen=True, slots=True)
class MoveSpace:
    """What the moves need to know of a problem, laid out once.

    Parameters
    ----------
    problem : Problem
    strided : bool
        Spread the parts of an operator evenly over the servers (``--net-opt 1``); otherwise contiguous.
    parameter_parallel : bool
        Linear operators may be cut along their output channels too.
    ordered : bool
        All-reduces may wait for other operators.
    degrees, parts : tuple of tuples
        Degrees and number of parts of every candidate of every operator.
    neighbours : tuple of tuples of (int, int)
        Of every operator: producers, then consumers, each with the elements on the edge.
    blocks : Blocks
        Operators that are changed together.
    """

    problem: Problem
    strided: bool
    parameter_parallel: bool
    ordered: bool
    degrees: tuple[tuple[tuple[int, ...], ...], ...]
    parts: tuple[tuple[int, ...], ...]
    neighbours: tuple[tuple[tuple[int, int], ...], ...]
    blocks: Blocks
    _terms: dict[bool, Terms] = field(default_factory=dict, init=False)

    def terms(self, *, strided: bool) -> Terms:
        """`measured_terms` of the problem, for all who ask; of 128 servers they take a second."""
        if strided not in self._terms:
            self._terms[strided] = measured_terms(self.problem, strided=strided)
        return self._terms[strided]

    def random_config(self, rng: np.random.Generator, op: int) -> tuple[int, list[int]]:
        """A random candidate of one operator and servers for it (model.cc:589)."""
        n_server = self.problem.cluster.n_server
        choice = int(rng.random() * len(self.parts[op]))
        degrees = self.degrees[op][choice]
        n_part = self.parts[op][choice]
        if self.parameter_parallel and kind_of(self.problem.graph.operators[op]).channel_parallel:
            start = int(rng.random() * (n_server - n_part + 1))
            start -= start % degrees[0]
            return choice, list(range(start, start + n_part))
        if n_part == 1:
            return choice, [int(rng.random() * n_server)]
        step = max(n_server // n_part, 1) if self.strided else 1
        start = int(rng.random() * (step if self.strided else n_server))
        return choice, sorted((start + i * step) % n_server for i in range(n_part))


def make_space(problem: Problem, *, strided: bool, parameter_parallel: bool = False, ordered: bool = True) -> MoveSpace:
    """Lay out what the moves need."""
    producers: list[list[tuple[int, int]]] = [[] for _ in problem.graph.operators]
    consumers: list[list[tuple[int, int]]] = [[] for _ in problem.graph.operators]
    for op in problem.graph.operators:
        for source in op.inputs:
            if source.op is not None:
                producers[op.index].append((source.op, source.tensor.volume))
                consumers[source.op].append((op.index, source.tensor.volume))
    return MoveSpace(
        problem,
        strided,
        parameter_parallel,
        ordered,
        tuple(tuple(entry.degrees for entry in entries) for entries in problem.candidates),
        tuple(tuple(prod(entry.degrees) for entry in entries) for entries in problem.candidates),
        tuple(tuple(a + b) for a, b in zip(producers, consumers, strict=True)),
        make_blocks(problem),
    )
