"""Moves over strategies: the start, a new config for one operator, and propagation along edges.

Every function is pure: it takes the generator and a strategy and returns a new strategy.  Reference section 3.
"""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from math import prod

import numpy as np

from flexnet.graph import OpType
from flexnet.problem import Problem
from flexnet.strategy import Config, Strategy

__all__ = ["MoveSet", "initial_strategy", "make_moves"]

P_PROPAGATE = 0.25  # model.h:315
P_WALK_ON = 0.75  # model.h:316


@dataclass(frozen=True, slots=True)
class MoveSet:
    """What the moves need to know of a problem, laid out once.

    Parameters
    ----------
    problem : Problem
    strided : bool
        Spread the parts of an operator evenly over the servers (``--net-opt 1``); otherwise contiguous.
    propagation : bool
        A quarter of the moves propagate a config along edges (``--enable-propagation``).
    parameter_parallel : bool
        Linear operators may be cut along their output channels too.
    degrees, parts : tuple of tuples
        Degrees and number of parts of every candidate of every operator.
    neighbours : tuple of tuples of (int, int)
        Of every operator: producers, then consumers, each with the elements on the edge.
    """

    problem: Problem
    strided: bool
    propagation: bool
    parameter_parallel: bool
    degrees: tuple[tuple[tuple[int, ...], ...], ...]
    parts: tuple[tuple[int, ...], ...]
    neighbours: tuple[tuple[tuple[int, int], ...], ...]

    def rewrite(self, rng: np.random.Generator, strategy: Strategy) -> Strategy | None:
        """One proposal; None if the move leaves the strategy as it is (model.cc:2201).

        A draw of the last operator does nothing, as in the original.
        """
        if self.propagation and rng.random() < P_PROPAGATE:
            return self.propagate(rng, strategy)
        n_op = len(self.degrees)
        op = int(rng.random() * n_op)
        if op == n_op - 1 and n_op > 1:
            return None
        choice, devices = self.random_config(rng, op)
        changed = Strategy(strategy.choice.copy(), strategy.devices.copy())
        changed.choice[op] = choice
        changed.devices[op] = -1
        changed.devices[op, : len(devices)] = devices
        return changed

    def random_config(self, rng: np.random.Generator, op: int) -> tuple[int, list[int]]:
        """A random candidate of one operator and servers for it (model.cc:589)."""
        n_server = self.problem.cluster.n_server
        choice = int(rng.random() * len(self.parts[op]))
        degrees = self.degrees[op][choice]
        n_part = self.parts[op][choice]
        if self.parameter_parallel and self.problem.graph.operators[op].kind == OpType.LINEAR:
            start = int(rng.random() * (n_server - n_part + 1))
            start -= start % degrees[0]
            return choice, list(range(start, start + n_part))
        if n_part == 1:
            return choice, [int(rng.random() * n_server)]
        step = max(n_server // n_part, 1) if self.strided else 1
        start = int(rng.random() * (step if self.strided else n_server))
        return choice, sorted((start + i * step) % n_server for i in range(n_part))

    def propagate(self, rng: np.random.Generator, strategy: Strategy) -> Strategy | None:
        """Copy a config along edges, edge by edge, weighted by tensor size (model.cc:2121)."""
        n_op = len(self.degrees)
        if n_op < 2:
            return None
        changed = Strategy(strategy.choice.copy(), strategy.devices.copy())
        op = int(rng.random() * (n_op - 1))
        seen = set()
        copied = False
        while True:
            seen.add(op)
            degrees = self.degrees[op][int(changed.choice[op])]
            n_part = prod(degrees)
            row = changed.devices[op]
            spread = n_part == degrees[-1] and all(int(row[i]) == i for i in range(n_part))
            edges = [
                (other, elements)
                for other, elements in self.neighbours[op]
                if other not in seen and self._adoptable(degrees, other, spread)
            ]
            if not edges:
                break
            ends = list(accumulate(elements for _, elements in edges))
            other = edges[bisect_right(ends, rng.random() * ends[-1])][0]
            if spread:
                rank = len(self.degrees[other][0])
                wanted = (*[1] * (rank - 1), degrees[-1])
                if wanted not in self.degrees[other]:
                    if rng.random() < P_WALK_ON:
                        continue
                    break
                changed.choice[other] = self.degrees[other].index(wanted)
                changed.devices[other] = row
                copied = True
            op = other
            if rng.random() >= P_WALK_ON:
                break
        return changed if copied else None

    def _adoptable(self, degrees: tuple[int, ...], other: int, spread: bool) -> bool:
        """Whether ``other`` may take these degrees, as they are or moved to its batch dimension."""
        if spread:
            return True
        if len(degrees) != len(self.degrees[other][0]):
            return False
        linear = self.parameter_parallel and self.problem.graph.operators[other].kind == OpType.LINEAR
        return all(degree == 1 for degree in degrees[1 if linear else 0 : -1])


def make_moves(problem: Problem, *, strided: bool, propagation: bool, parameter_parallel: bool = False) -> MoveSet:
    """Lay out what the moves need."""
    producers: list[list[tuple[int, int]]] = [[] for _ in problem.graph.operators]
    consumers: list[list[tuple[int, int]]] = [[] for _ in problem.graph.operators]
    for op in problem.graph.operators:
        for source in op.inputs:
            if source.op is not None:
                producers[op.index].append((source.op, source.tensor.volume))
                consumers[source.op].append((op.index, source.tensor.volume))
    return MoveSet(
        problem,
        strided,
        propagation,
        parameter_parallel,
        tuple(tuple(entry.degrees for entry in entries) for entries in problem.candidates),
        tuple(tuple(prod(entry.degrees) for entry in entries) for entries in problem.candidates),
        tuple(tuple(a + b) for a, b in zip(producers, consumers, strict=True)),
    )


def initial_strategy(rng: np.random.Generator, moves: MoveSet) -> list[Config]:
    """Data parallelism over all servers, embeddings one by one round the servers (simulator.cu:372)."""
    problem = moves.problem
    n_server = problem.cluster.n_server
    configs = []
    n_embedding = 0
    for op in problem.graph.operators:
        if op.kind == OpType.EMBEDDING:
            choice, devices = moves.random_config(rng, op.index)
            home = n_embedding % n_server
            if home in devices:
                devices.remove(home)
                devices.insert(0, home)
            else:
                devices[0] = home
            n_embedding += 1
            configs.append(Config(moves.degrees[op.index][choice], tuple(devices)))
        else:
            degrees = (*[1] * (op.rank - 1), n_server)
            configs.append(Config(degrees, tuple(range(n_server))))
    return configs
