"""How many rings every group gets, of the interfaces of its members."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from flexnet.network.demand import Demand

__all__ = ["Group", "pair_interfaces", "ring_shares", "sent_by_group"]

Group = tuple[int, ...]
Ints = npt.NDArray[np.int64]


def sent_by_group(demand: Demand) -> dict[Group, float]:
    """Bytes that each member of every group sends around its rings: 2 (g - 1) / g of the tensors; largest first.

    Groups that are known by their size alone count as one of all servers.
    """
    groups = demand.groups or {tuple(range(demand.n_server)): sum(demand.allreduce.values())}
    sent = {group: 2 * (len(group) - 1) / len(group) * volume for group, volume in groups.items() if len(group) > 1}
    return dict(sorted(((g, volume) for g, volume in sent.items() if volume > 0), key=lambda item: (-item[1], item[0])))


def pair_interfaces(demand: Demand, degree: int, weight: float = 1.0) -> Ints:
    """Interfaces of every server that are for pair traffic, in proportion to the bytes it sends or receives.

    Parameters
    ----------
    demand : Demand
    degree : int
    weight : float
        Bytes of a ring that a byte between two servers counts as; more than 1 because it takes several hops.

    Returns
    -------
    int64 (n_server,)
        0 to ``degree``; all where a server is in no group.
    """
    pairs = weight * np.maximum(demand.model_parallel.sum(axis=0), demand.model_parallel.sum(axis=1))
    rings = np.zeros(demand.n_server)
    for group, volume in sent_by_group(demand).items():
        rings[list(group)] += volume
    total = pairs + rings
    share = np.divide(pairs, total, out=np.ones_like(total), where=total > 0)
    return np.where(rings > 0, np.rint(degree * share), degree).astype(np.int64)


def ring_shares(sent: Mapping[Group, float], free: Ints) -> dict[Group, int]:
    """Rings of every group, each of which takes two interfaces of every member; most bytes a ring come first.

    The method of highest averages (D'Hondt): a ring more goes to the group with most bytes for each ring it would have,
    of those whose members all have two interfaces left.

    Parameters
    ----------
    sent : mapping of group to float
    free : int64 (n_server,)
        Interfaces for rings.

    >>> ring_shares({(0, 1, 2, 3): 30.0, (0, 1): 14.0}, np.array([6, 6, 4, 4]))
    {(0, 1, 2, 3): 2, (0, 1): 1}
    """
    left = free.copy()
    shares = dict.fromkeys(sent, 0)
    while True:
        open_ = [group for group in sent if left[list(group)].min() >= 2]
        if not open_:
            return {group: share for group, share in shares.items() if share}
        group = max(open_, key=lambda group: sent[group] / (shares[group] + 1))
        shares[group] += 1
        left[list(group)] -= 2
