"""A config copied along edges of the model."""

from bisect import bisect_right
from itertools import accumulate

import numpy as np

from flexnet.model.cutting import batch_degrees
from flexnet.model.operators import kind_of
from flexnet.plan.strategy import Strategy
from flexnet.search.moves.blocks import copy_of
from flexnet.search.moves.move import Move

__all__ = ["Propagate"]

P_WALK_ON = 0.75  # model.h:316


class Propagate(Move):
    """The config of a random operator, copied to a neighbour, from there to another, and so on (model.cc:2121)."""

    def propose(self, rng: np.random.Generator, strategy: Strategy) -> Strategy | None:
        """Copy a config along edges, edge by edge, weighted by tensor size (model.cc:2121)."""
        space = self.space
        n_op = len(space.degrees)
        if n_op < 2:
            return None
        changed = copy_of(strategy)
        op = int(rng.random() * (n_op - 1))
        seen = set()
        copied = False
        while True:
            seen.add(op)
            choice = int(changed.choice[op])
            degrees, n_part = space.degrees[op][choice], space.parts[op][choice]
            row = changed.devices[op]
            batch = degrees[space.problem.graph.operators[op].rank - 1]
            spread = n_part == batch and row[:n_part].tolist() == list(range(n_part))
            edges = [
                edge
                for edge in space.neighbours[op]
                if edge[0] not in seen and (spread or self._adoptable(degrees, edge[0]))
            ]
            if not edges:
                break
            ends = list(accumulate(elements for _, elements in edges))
            other = edges[bisect_right(ends, rng.random() * ends[-1])][0]
            if spread:
                wanted = batch_degrees(space.problem.graph.operators[other].rank, batch)
                if wanted not in space.degrees[other]:
                    if rng.random() < P_WALK_ON:
                        continue
                    break
                changed.choice[other] = space.degrees[other].index(wanted)
                changed.devices[other] = row
                copied = True
            op = other
            if rng.random() >= P_WALK_ON:
                break
        return changed if copied else None

    def _adoptable(self, degrees: tuple[int, ...], other: int) -> bool:
        """Whether ``other`` may take these degrees, which are not along the batch on the first servers, as they are."""
        if len(degrees) != len(self.space.degrees[other][0]):
            return False
        op = self.space.problem.graph.operators[other]
        channels = self.space.parameter_parallel and kind_of(op).channel_parallel
        return all(degree == 1 for degree in degrees[1 if channels else 0 : -1])
