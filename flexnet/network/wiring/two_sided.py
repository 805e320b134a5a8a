"""Links between two sides only: those that send to each other stand on the same side, and others forward for them.

Where a plan's operators lie on half of the servers, or on one half after the other, links within a half are idle while
it is not its turn, and so are all links of servers that compute nothing.  With every link between the halves, what one
half exchanges runs over the interfaces of the other one too: in two hops each, but over twice as many links.  Where all
send to all, two sides are as good as other graphs of so few links, and their shortest paths are many and even.
"""

from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt

from flexnet.network.demand import Demand
from flexnet.network.kernels.components import component_of
from flexnet.network.routes import mean_hops
from flexnet.network.topology import Topology
from flexnet.network.wiring.links import are_connected

__all__ = ["two_sided"]

CLOSE = 0.1  # servers that exchange such a share of what those do that exchange most are to be on one side
MOST_KNOWN = 4096  # sets of shifts whose hops are remembered
N_DRAW = 8  # sets of shifts, of which the one with the fewest hops is taken


def two_sided(demand: Demand, degree: int, rng: np.random.Generator) -> Topology | None:
    """A regular graph whose links all join two halves, with servers that exchange much in the same one.

    Server ``i`` of one side has links to servers ``i + s`` of the other, for ``degree`` shifts ``s`` and any order of
    the servers of a side, so that every server sees the same network.  With more interfaces than there are servers on
    the other side, links are several.

    Parameters
    ----------
    demand : Demand
    degree : int
        Interfaces of a server.
    rng : numpy.random.Generator
        Draws the order, and shifts.

    Returns
    -------
    Topology or None
        None if the number of servers is odd, or they cannot be connected so.
    """
    n, half = demand.n_server, demand.n_server // 2
    if n % 2 or min(degree, half) < 2:
        return None
    left, right = _sides(demand, rng)
    drawn = [rng.choice(half, min(degree, half), replace=False) for _ in range(N_DRAW)]
    nearest = min((tuple(sorted(shifts.tolist())) for shifts in drawn), key=partial(_hops, half))
    if not np.isfinite(_hops(half, nearest)):
        return None
    shifts = tuple(nearest[k % len(nearest)] for k in range(degree))
    return Topology("wired", n, 0, _with_shifts(left, right, shifts), {})


def _sides(demand: Demand, rng: np.random.Generator) -> tuple[list[int], list[int]]:
    """Two halves: of the sets of servers that exchange much the largest first, each to where it still fits."""
    exchanged = demand.model_parallel + demand.model_parallel.T
    np.fill_diagonal(exchanged, 0.0)
    much = exchanged > CLOSE * exchanged.max(initial=0.0)
    label = component_of(much.astype(np.int64))
    order = rng.permutation(demand.n_server)
    sets = [order[label[order] == one].tolist() for one in dict.fromkeys(label[order].tolist())]
    half = demand.n_server // 2
    sides: tuple[list[int], list[int]] = [], []
    rest: list[int] = []
    for some in sorted(sets, key=len, reverse=True):
        side = next((side for side in sides if len(side) + len(some) <= half), rest)
        side += some
    for side in sides:
        while len(side) < half:
            side.append(rest.pop())
    return sides


@lru_cache(maxsize=MOST_KNOWN)
def _hops(half: int, shifts: tuple[int, ...]) -> float:
    """Mean hops between servers, whichever stand on which side; infinity where not all are connected."""
    links = _with_shifts(list(range(half)), list(range(half, 2 * half)), shifts)
    return mean_hops(Topology("wired", 2 * half, 0, links, {})) if are_connected(links) else np.inf


def _with_shifts(left: list[int], right: list[int], shifts: tuple[int, ...]) -> npt.NDArray[np.int64]:
    half = len(left)
    links = np.zeros((2 * half, 2 * half), np.int64)
    for shift in shifts:
        here, there = np.array(left), np.roll(right, -shift)
        links[here, there] += 1
        links[there, here] += 1
    return links
