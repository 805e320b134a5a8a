"""Blocks of operators that are changed together, and how they are cut and where they are put.

One operator that is cut unlike its neighbours costs two reshuffles, so every path of single changes to a better plan
climbs a wall; a block that is changed at once pays at its border alone.
"""

from collections import defaultdict
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from flexnet.model.cutting import divisors, partial_sums, side_by_side
from flexnet.model.operators import kind_of
from flexnet.model.operators.kind import tensor_bytes
from flexnet.plan.problem import Problem
from flexnet.plan.strategy import Strategy
from flexnet.search.moves.chains import Chain, chains_of

__all__ = ["Blocks", "Ints", "across", "copy_of", "home", "make_blocks", "spread"]

Ints = npt.NDArray[np.int64]

PLAIN = 0.5  # of the cuts that are not along the batch alone are along one other axis
HEAVY = 0.5  # of single operators are drawn by the bytes of their weights
GROWTH = 0.25  # a connected run has 2 operators and, on the mean, 1 / GROWTH more


@dataclass(frozen=True, slots=True)
class Blocks:
    """What a problem's operators are as blocks, laid out once.

    Parameters
    ----------
    problem : Problem
    neighbours : tuple of tuple of int
        Producers and consumers of every operator, ascending.
    edges : int64 (n_edge, 2)
        Producer and consumer, every pair once.
    alike : tuple of tuple of int
        Operators of equal shape and with equal candidates, where there are several.
    chains : tuple of tuple of int
        The model as maximal chains: runs without a fork or a join inside.
    twins : tuple of tuple of chains
        Chains alike, operator by operator, where there are several: tables, heads.
    branches : tuple of tuple of chains
        Chains that are twins, or that the same operators read, alike or not: towers that are joined, tables, heads.
    with_parts : tuple of Mapping[int, tuple of int]
        Of every operator, its candidates by number of parts, those cut along the batch alone first.
    whole : tuple of bool
        Operators that are never cut.
    weighted : tuple of bool
        Operators with weights, which may have gradients to reduce.
    weights_until : float64 (n_op,)
        Bytes of the weights of every operator and those before it.
    by_sample : tuple of bool (n_candidate,)
        Candidates of every operator that cut nothing but the batch.
    """

    problem: Problem
    neighbours: tuple[tuple[int, ...], ...]
    edges: Ints
    alike: tuple[tuple[int, ...], ...]
    chains: tuple[Chain, ...]
    twins: tuple[tuple[Chain, ...], ...]
    branches: tuple[tuple[Chain, ...], ...]
    with_parts: tuple[dict[int, tuple[int, ...]], ...]
    whole: tuple[bool, ...]
    weighted: tuple[bool, ...]
    weights_until: npt.NDArray[np.float64]
    by_sample: tuple[npt.NDArray[np.bool_], ...]

    def draw(self, rng: np.random.Generator, strategy: Strategy) -> Chain:
        """A block: one operator, a connected run, a region, a chain, a span of the model, all of a shape, all branches.

        A region is what lies on the same servers and hangs together, or what of that comes before or after some
        operator.
        """
        n_op, kind = len(self.whole), rng.random()
        if kind < 0.15:
            return (self._single(rng),)
        if kind < 0.35:
            return self._connected(rng, min(n_op, 2 + int(rng.geometric(GROWTH))))
        if kind < 0.5:
            return self._region(rng, strategy)
        if kind < 0.65:
            return self.chains[int(rng.integers(len(self.chains)))]
        if kind < 0.8 or not self.alike:
            first, last = sorted(rng.integers(0, n_op, 2).tolist())
            return tuple(range(first, last + 1))
        if kind < 0.9:
            return self.alike[int(rng.integers(len(self.alike)))]
        if kind < 0.97 and self.branches:
            branches = self.branches[int(rng.integers(len(self.branches)))]
            return tuple(sorted(op for chain in branches for op in chain))
        return tuple(range(n_op))

    def servers(self, rng: np.random.Generator, strategy: Strategy, block: Chain) -> Ints:
        """Servers for a block: those of a neighbour, so that nothing moves across that border; some of its own; others.

        int64 (n,), in the order that `assign` takes; n divides the number of servers or is what some operator has.
        """
        n_server, how = self.problem.cluster.n_server, rng.random()
        if how < 0.45:
            inside = set(block)
            outside = [op for member in block for op in self.neighbours[member] if op not in inside]
            if outside:
                return self.servers_of(strategy, outside[int(rng.integers(len(outside)))])
        own = self.servers_of(strategy, block[int(rng.integers(len(block)))])
        if how < 0.55:
            return own
        if how < 0.6:
            others = np.setdiff1d(np.arange(n_server), own)
            return others if len(others) and n_server % len(others) == 0 else own
        if how < 0.7 and len(own) > 1:
            fewer = divisors(len(own), len(own) - 1)
            n = fewer[int(rng.integers(len(fewer)))]
            first = int(rng.integers(len(own) // n))
            return own[first :: len(own) // n] if rng.random() < 0.5 else own[first * n : (first + 1) * n]
        parts = divisors(n_server, n_server)
        n = parts[int(rng.integers(len(parts)))]
        return spread(n_server, n, int(rng.integers(n_server // n)), strided=rng.random() < 0.5)

    def assign(
        self, strategy: Strategy, op: int, servers: Ints, degrees: tuple[int, ...] | None, rng: np.random.Generator
    ) -> None:
        """Cut ``op`` over ``servers``, or evenly chosen ones of them if it cannot be cut into as many parts.

        Partial sums of the same elements lie side by side (`flexnet.model.cutting.side_by_side`).

        Parameters
        ----------
        strategy : Strategy
            Is written to.
        op : int
        servers : int64 (n,)
        degrees : tuple of int or None
            Wanted; None, or where the operator has no such candidate: along the batch if it can be.
        rng : numpy.random.Generator
            Chooses the server of an operator with a single part.
        """
        options = self.with_parts[op]
        n = next((n for n in range(len(servers), 0, -1) if n in options), 0)
        if not n:
            n = min(options)
            servers = np.arange(n)
        choices = options[n]
        entries = self.problem.candidates[op]
        choice = next((i for i in choices if entries[i].degrees == degrees), choices[0])
        if n < len(servers):
            servers = servers[int(rng.integers(len(servers)))][None] if n == 1 else servers[:: len(servers) // n][:n]
        self.lay(strategy, op, choice, servers)

    def lies_along_batch(self, strategy: Strategy, block: Chain, servers: Ints) -> bool:
        """Whether all of a block that can be cut is cut along the batch over just these servers, in this order."""
        return all(
            self.by_sample[op][strategy.choice[op]] and np.array_equal(home(strategy, op), servers)
            for op in block
            if not self.whole[op]
        )

    def other_degrees(self, rng: np.random.Generator, op: int, n: int) -> tuple[int, ...] | None:
        """A cut of an operator into ``n`` parts, not along the batch alone, at times along one axis; None if none."""
        choices = [choice for choice in self.with_parts[op].get(n, ()) if n == 1 or not self.by_sample[op][choice]]
        if not choices:
            return None
        cuts = [self.problem.candidates[op][choice].degrees for choice in choices]
        if rng.random() < PLAIN:
            cuts = [degrees for degrees in cuts if max(degrees) == n] or cuts
        return cuts[int(rng.integers(len(cuts)))]

    def border(self, block: Chain) -> Ints:
        """The edges between a block and what is outside, int64 (n, 2)."""
        border: Ints = self.edges[np.isin(self.edges, block).sum(axis=1) == 1]
        return border

    def sends(self, strategy: Strategy, edges: Ints) -> npt.NDArray[np.bool_]:
        """Over which edges something is sent, (n_edge,): servers or their order differ, or a cut is not of samples.

        Cuts of other axes that happen to match send nothing and count as sending.
        """
        devices = strategy.devices[edges]
        moved = (devices[:, 0] != devices[:, 1]).any(axis=1)
        by_sample = np.array([same[choice] for same, choice in zip(self.by_sample, strategy.choice, strict=True)])
        sends: npt.NDArray[np.bool_] = moved | ~by_sample[edges].all(axis=1)
        return sends

    def together(self, strategy: Strategy, at: int) -> Chain:
        """The operators that hang together with ``at`` on the same servers, ascending."""
        servers = np.sort(strategy.devices[at])
        region, border = {at}, [at]
        while border:
            for op in self.neighbours[border.pop()]:
                if op not in region and np.array_equal(np.sort(strategy.devices[op]), servers):
                    region.add(op)
                    border.append(op)
        return tuple(sorted(region))

    def behind(self, strategy: Strategy, at: int) -> Chain:
        """Of the operators that hang together with ``at`` on the same servers, itself and those after it."""
        return tuple(op for op in self.together(strategy, at) if op >= at)

    def lay(self, strategy: Strategy, op: int, choice: int, servers: Ints) -> None:
        """Cut ``op`` as this candidate over as many ``servers``; ``strategy`` is written to."""
        sums = self._sums(op, choice)
        strategy.choice[op] = choice
        strategy.devices[op] = -1
        strategy.devices[op, : len(servers)] = side_by_side(servers.tolist(), sums) if sums > 1 else servers

    def servers_of(self, strategy: Strategy, op: int) -> Ints:
        """Servers of an operator in the order in which `lay` would take them."""
        servers, sums = home(strategy, op), self._sums(op, int(strategy.choice[op]))
        return servers.reshape(sums, -1).T.ravel() if sums > 1 else servers

    def _sums(self, op: int, choice: int) -> int:
        return partial_sums(self.problem.candidates[op][choice].degrees, self.problem.graph.operators[op].rank)

    def _single(self, rng: np.random.Generator) -> int:
        """Any operator, or one with weights: the more of them, the likelier, for these are what is reduced."""
        if self.weights_until[-1] > 0 and rng.random() < HEAVY:
            return int(np.searchsorted(self.weights_until, rng.random() * self.weights_until[-1], side="right"))
        return int(rng.integers(len(self.whole)))

    def _region(self, rng: np.random.Generator, strategy: Strategy) -> Chain:
        at = int(rng.integers(len(self.whole)))
        region = self.together(strategy, at)
        which = rng.random()
        if which < 0.5:
            return region
        return tuple(op for op in region if (op >= at if which < 0.75 else op <= at))

    def _connected(self, rng: np.random.Generator, size: int) -> Chain:
        at = int(rng.integers(len(self.whole)))
        block, border = {at}, list(self.neighbours[at])
        while len(block) < size and border:
            op = border.pop(int(rng.integers(len(border))))
            if op not in block:
                block.add(op)
                border += [other for other in self.neighbours[op] if other not in block]
        return tuple(sorted(block))


def make_blocks(problem: Problem) -> Blocks:
    """Lay out the blocks of a problem."""
    graph = problem.graph
    neighbours: list[set[int]] = [set() for _ in graph.operators]
    edges = sorted({(source.op, op.index) for op in graph.operators for source in op.inputs if source.op is not None})
    for producer, consumer in edges:
        neighbours[consumer].add(producer)
        neighbours[producer].add(consumer)
    classes = problem.classes()
    alike: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for op in graph.operators:
        alike[classes[op.index]].append(op.index)
    chains = chains_of(graph)
    twins: dict[tuple[object, ...], list[Chain]] = defaultdict(list)
    joined: dict[tuple[int, ...], list[Chain]] = defaultdict(list)
    for chain in chains:
        twins[tuple(classes[op] for op in chain)].append(chain)
        joined[tuple(sorted(op for op in neighbours[chain[-1]] if op > chain[-1]))].append(chain)
    same = [tuple(found) for found in twins.values() if len(found) > 1]
    together = [tuple(found) for readers, found in joined.items() if readers and len(found) > 1]
    return Blocks(
        problem,
        tuple(tuple(sorted(others)) for others in neighbours),
        np.array(edges, np.int64).reshape(-1, 2),
        tuple(tuple(ops) for ops in alike.values() if len(ops) > 1),
        chains,
        tuple(same),
        tuple(dict.fromkeys(same + together)),
        tuple(_with_parts(problem, op) for op in range(len(graph.operators))),
        tuple(kind_of(op).whole for op in graph.operators),
        tuple(bool(op.weights) for op in graph.operators),
        np.cumsum([tensor_bytes(op)[2] for op in graph.operators], dtype=np.float64),
        tuple(_by_sample(problem, op) for op in range(len(graph.operators))),
    )


def home(strategy: Strategy, op: int) -> Ints:
    """Servers of the parts of an operator, int64 (n_part,)."""
    row = strategy.devices[op]
    servers: Ints = row[row >= 0].copy()
    return servers


def copy_of(strategy: Strategy) -> Strategy:
    """The strategy with arrays of its own."""
    return Strategy(strategy.choice.copy(), strategy.devices.copy(), strategy.after.copy())


def across(servers: Ints, degrees: tuple[int, ...]) -> list[Ints]:
    """Servers with the grid that a cut along several axes makes of them transposed; for three axes at one or the other.

    Operators in a row that are cut along output and input channels each read along one side of the grid what was
    computed along the other, so that every second one should lie across (S. Singh et al., arXiv:2305.13525).  Empty
    where no more than one axis is cut.

    >>> across(np.array([4, 5, 6, 7]), (2, 1, 2))
    [array([4, 6, 5, 7])]
    """
    sides = [side for side in dict.fromkeys(np.cumprod(degrees).tolist()) if 1 < side < len(servers)]
    return [servers.reshape(side, -1).T.ravel() for side in sides]


def spread(n_server: int, n: int, place: int, *, strided: bool) -> Ints:
    """The ``place``-th of the ``n_server // n`` disjoint sets of ``n`` servers, evenly spread or side by side.

    >>> spread(8, 2, 1, strided=True), spread(8, 2, 1, strided=False)
    (array([1, 5]), array([2, 3]))
    """
    step = n_server // n
    servers: Ints = place + step * np.arange(n) if strided else place * n + np.arange(n)
    return servers


def _by_sample(problem: Problem, op: int) -> npt.NDArray[np.bool_]:
    rank = problem.graph.operators[op].rank
    return np.array([prod(entry.degrees) == entry.degrees[rank - 1] for entry in problem.candidates[op]])


def _with_parts(problem: Problem, op: int) -> dict[int, tuple[int, ...]]:
    found: dict[int, dict[tuple[int, ...], int]] = defaultdict(dict)
    for choice, entry in enumerate(problem.candidates[op]):
        found[prod(entry.degrees)].setdefault(entry.degrees, choice)
    rank = problem.graph.operators[op].rank
    return {
        parts: tuple(sorted(same.values(), key=lambda c: problem.candidates[op][c].degrees[rank - 1] != parts))
        for parts, same in found.items()
    }
