"""What commands accept: the largest numbers, which topologies, and sizes that must fit each other."""

from collections.abc import Iterable, Mapping

from flexnet.errors import FlexNetError
from flexnet.network.topologies import TOPOLOGIES
from flexnet.plan.cluster import Cluster

__all__ = [
    "MAX_COUNT",
    "MAX_INTEGER",
    "MAX_SERVERS",
    "check_degree",
    "check_divides",
    "check_parameters",
    "searched_topologies",
]

MAX_COUNT = 2**31 - 1  # batch sizes and counts are 32-bit in measurement files
MAX_INTEGER = 2**63 - 1
MAX_SERVERS = 4096  # links and demands are matrices of them

_REPLAYED = ("star", "leafspine", "kary")  # another name, and two whose switches spread flows over equal paths


def searched_topologies() -> tuple[str, ...]:
    """Topologies a search can choose: those for which one route a pair of servers is how flows go."""
    return tuple(
        name
        for name in TOPOLOGIES
        if name not in _REPLAYED and not getattr(TOPOLOGIES.peek(name), "spreads_flows", False)
    )


def check_degree(topology: str, degree: int, n_server: int, servers: str) -> None:
    """Refuse more interfaces of a server than there are servers.

    Raises
    ------
    FlexNetError
        With ``servers``, which says where their number is from.
    """
    if degree > n_server:
        raise FlexNetError(
            f"--node-degree is {degree} and {servers}; a {topology} network needs at least as many servers as "
            "interfaces of a server"
        )


def check_parameters(topology: str, given: Iterable[str], parameters: Mapping[str, str]) -> None:
    """Refuse flags that set parameters which a topology family does not have.

    Parameters
    ----------
    topology : str
        A name in `flexnet.network.topologies.TOPOLOGIES`, or another, which has none.
    given : iterable of str
        Flags that were given.
    parameters : Mapping
        Flags that are parameters of families, with their names there.

    Raises
    ------
    FlexNetError
        Naming the topologies that have the first such flag.
    """
    for flag in given:
        if flag not in parameters:
            continue
        names = [name for name in TOPOLOGIES if parameters[flag] in TOPOLOGIES[name].parameters()]
        if topology not in names:
            raise FlexNetError(f"{flag} is for --topology {' and '.join(names)}; the topology is {topology}")


def check_divides(batch_size: int, cluster: Cluster, *, measured: bool) -> None:
    """Refuse what no data-parallel start can be made of, before anything is read or estimated.

    Raises
    ------
    FlexNetError
        If the batch does not divide evenly.
    """
    gpus = 1 if measured else cluster.gpus
    n_part = cluster.n_server * gpus
    if batch_size % n_part:
        over = f"{cluster.n_server} servers" + (f" of {gpus} GPUs" if gpus > 1 else "")
        raise FlexNetError(
            f"--batch-size {batch_size} does not divide evenly over {over}; "
            f"it must be a multiple of {n_part}, such as {-(-batch_size // n_part) * n_part}"
        )
