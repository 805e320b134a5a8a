"""What commands accept: the largest numbers, and sizes that must fit each other."""

from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any

from flexnet.errors import FlexNetError
from flexnet.network.topologies import TOPOLOGIES

__all__ = [
    "FAMILY_PARAMETERS",
    "MAX_COUNT",
    "MAX_GPUS",
    "MAX_INTEGER",
    "MAX_MICRO_BATCHES",
    "MAX_SERVERS",
    "check_degree",
    "check_divides",
    "check_drawing",
    "check_parameters",
    "degree_of",
]

MAX_COUNT = 2**31 - 1  # batch sizes and counts are 32-bit in measurement files
MAX_INTEGER = 2**63 - 1
MAX_SERVERS = 4096  # links and demands are matrices of them
MAX_GPUS = 1024  # of a server
MAX_MICRO_BATCHES = 1024  # of each, all tasks of the model are laid out

FAMILY_PARAMETERS = {
    "--node-degree": "degree",
    "--servers-per-leaf": "servers_per_leaf",
    "--oversubscription": "oversubscription",
    "--ports": "ports",
}
"""Flags that are parameters of topology families, with their names there."""


def degree_of(values: Mapping[str, Any], given: Container[str], n_server: int) -> int:
    """Interfaces of a server: those that were asked for, else the default, or of a few servers as many as there are."""
    degree: int = values["node_degree"]
    return degree if "--node-degree" in given else min(degree, n_server)


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


def check_parameters(topology: str, given: Iterable[str]) -> None:
    """Refuse flags that set parameters which a topology family does not have.

    Parameters
    ----------
    topology : str
        A name in `flexnet.network.topologies.TOPOLOGIES`, or another, which has none.
    given : iterable of str
        Flags that were given.

    Raises
    ------
    FlexNetError
        Naming the topologies that have the first such flag.
    """
    for flag in given:
        if flag not in FAMILY_PARAMETERS:
            continue
        names = [name for name in TOPOLOGIES if FAMILY_PARAMETERS[flag] in TOPOLOGIES[name].parameters()]
        if topology not in names:
            raise FlexNetError(f"{flag} is for --topology {' and '.join(names)}; the topology is {topology}")


def check_drawing(path: Path, given: Container[str]) -> None:
    """Refuse flags beside a drawing that say how its links are.

    Raises
    ------
    FlexNetError
        Naming the first of them.
    """
    of_links = (*FAMILY_PARAMETERS, "--interface-bandwidth", "--network-latency")
    flag = next((flag for flag in of_links if flag in given), None)
    if flag is not None:
        raise FlexNetError(f"{flag} has no meaning for the network in {path}: it has links and speeds of its own")


def check_divides(batch_size: int, n_server: int, gpus: int, *, micro_batches: int = 1) -> int:
    """Refuse what no data-parallel start can be made of, before anything is read or estimated.

    That is over all servers, or with several micro-batches over one at least: stages of a pipeline have a few each.

    Returns
    -------
    int
        Samples of a micro-batch.

    Raises
    ------
    FlexNetError
        If the batch does not divide evenly.
    """
    of_gpus = f" of {gpus} GPUs" if gpus > 1 else ""
    if micro_batches == 1:
        over, n_part = f"{n_server} servers{of_gpus}", n_server * gpus
    else:
        over, n_part = f"{micro_batches} micro-batches, each over one server{of_gpus}", micro_batches * gpus
    if batch_size % n_part:
        raise FlexNetError(
            f"--batch-size {batch_size} does not divide evenly over {over}; "
            f"it must be a multiple of {n_part}, such as {-(-batch_size // n_part) * n_part}"
        )
    return batch_size // micro_batches
