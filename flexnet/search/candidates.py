"""Candidates of a search; the best distinct ones, the elite, are priced once more before one is chosen."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.network.network import Network
from flexnet.plan.strategy import Strategy, same_strategy
from flexnet.simulate.link_model import Timeline

__all__ = ["ELITE", "Candidate", "Directions", "choose", "with_candidate"]

ELITE = 8
"""Candidates that are kept; prices while searching are off by less than what separates this many."""

Directions = npt.NDArray[np.int8]


class Candidate(NamedTuple):
    """A strategy on a network, its iteration time in seconds, and the ring directions it was priced with.

    ``origin`` is the start it descends from.
    """

    strategy: Strategy
    network: Network
    seconds: float
    directions: Directions | None
    origin: str = ""


def with_candidate(elite: tuple[Candidate, ...], plan: Candidate) -> tuple[Candidate, ...]:
    """The elite after ``plan`` was priced: at most `ELITE` plans of different strategies, fastest first.

    Parameters
    ----------
    elite : tuple of Candidate
    plan : Candidate
        Of plans with the same strategy the faster one stays.
    """
    if len(elite) == ELITE and plan.seconds >= elite[-1].seconds:
        return elite
    same = [other for other in elite if same_strategy(other.strategy, plan.strategy)]
    if same and same[0].seconds <= plan.seconds:
        return elite
    kept = [other for other in elite if not any(other is one for one in same)]
    at = sum(other.seconds <= plan.seconds for other in kept)
    return (*kept[:at], plan, *kept[at:])[:ELITE]


def choose(candidates: list[tuple[Candidate, Timeline]]) -> tuple[Candidate, Timeline]:
    """The candidate with the shortest timeline, the first of equals."""
    return min(candidates, key=lambda candidate: candidate[1].seconds)
