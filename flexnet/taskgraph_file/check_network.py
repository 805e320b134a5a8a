"""Do the links, routes and rings of a task graph file hold together?"""

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.taskgraph_file.contents import TaskGraphFile

__all__ = ["check_links", "check_rings", "check_routes", "check_talking_pairs", "path_lengths"]

Ints = npt.NDArray[np.int64]


def check_links(file: TaskGraphFile) -> None:
    """Links join two nodes that exist, have at least one cable, and are given once.

    Raises
    ------
    FlexNetError
        If not.
    """
    n_node = file.n_server + file.n_switch
    a, b, count = file.links.T
    for bad, what in (
        ((a >= n_node) | (b >= n_node), f"nodes are 0 to {n_node - 1}"),
        (a == b, "a link joins two nodes"),
        (count == 0, "a link has nconn 1 or more"),
    ):
        if bad.any():
            at = int(np.argmax(bad))
            raise FlexNetError(f"{file.source}: link {a[at]}-{b[at]} with nconn {count[at]} is impossible; {what}")
    keys, times = np.unique(np.maximum(a, b) * n_node + np.minimum(a, b), return_counts=True)
    if (times > 1).any():
        node, other = divmod(int(keys[np.argmax(times > 1)]), n_node)
        raise FlexNetError(
            f"{file.source}: link {node}-{other} is given twice; parallel links are one entry with a count"
        )


def check_routes(file: TaskGraphFile) -> None:
    """Routes are between servers, given once; paths start and end there and use links that exist.

    Paths of a server to itself and paths without hops are ignored.

    Raises
    ------
    FlexNetError
        If not.
    """
    routes, n_node = file.routes, file.n_server + file.n_switch
    lost = (routes.source >= file.n_server) | (routes.target >= file.n_server)
    if lost.any():
        at = int(np.argmax(lost))
        raise FlexNetError(
            f"{file.source}: route {routes.source[at]} -> {routes.target[at]} is impossible; servers are 0 to "
            f"{file.n_server - 1}"
        )
    keys, times = np.unique(routes.source * n_node + routes.target, return_counts=True)
    if (times > 1).any():
        source, target = divmod(int(keys[np.argmax(times > 1)]), n_node)
        raise FlexNetError(
            f"{file.source}: route {source} -> {target} is given twice; alternatives are paths of one route"
        )

    route = np.repeat(np.arange(len(routes.source)), np.diff(routes.path_ptr))
    counts = np.diff(routes.hop_ptr)
    used = (counts > 0) & (routes.source != routes.target)[route]
    route, begin, end = route[used], routes.hop_ptr[:-1][used], routes.hop_ptr[1:][used] - 1
    hop = routes.hop[np.repeat(used, counts)]
    if not len(hop):
        return
    bad = (end == begin) | (routes.hop[begin] != routes.source[route]) | (routes.hop[end] != routes.target[route])
    if bad.any():
        at = int(np.argmax(bad))
        raise FlexNetError(
            f"{file.source}: a path of route {routes.source[route[at]]} -> {routes.target[route[at]]} is "
            f"{_shorten(routes.hop[begin[at] : end[at] + 1])}; it must start and end at the servers of its route"
        )
    last = np.cumsum(end - begin + 1) - 1
    inner = np.ones(len(hop), bool)
    inner[last] = False
    step_from, step_to = hop[inner], np.append(hop[1:], 0)[inner]
    a, b, _ = file.links.T
    joined = np.isin(step_from * n_node + step_to, np.concatenate([a * n_node + b, b * n_node + a]))
    joined &= np.maximum(step_from, step_to) < n_node
    if not joined.all():
        at = int(np.argmin(joined))
        raise FlexNetError(
            f"{file.source}: a path goes from node {step_from[at]} to node {step_to[at]}, which no link joins; hops "
            "follow links"
        )


def check_rings(file: TaskGraphFile, group_sizes: Ints) -> None:
    """Rings step over links that exist, and every group size in use has one.

    Parameters
    ----------
    file : TaskGraphFile
    group_sizes : int64 (n_size,)
        Distinct sizes of groups that use the network.

    Raises
    ------
    FlexNetError
        If not.
    """
    rings = file.rings
    if rings is None or not len(rings.size):
        return
    sizes, times = np.unique(rings.size, return_counts=True)
    if (times > 1).any():
        raise FlexNetError(f"{file.source}: rings of size {sizes[np.argmax(times > 1)]} are given twice")
    if (rings.size > file.n_server).any():
        raise FlexNetError(f"{file.source}: there are rings of size {rings.size.max()}; servers number {file.n_server}")
    bad = (rings.jump < 1) | (rings.jump >= file.n_server)
    if bad.any():
        raise FlexNetError(
            f"{file.source}: a ring has jump {rings.jump[np.argmax(bad)]}; jumps are 1 to {file.n_server - 1}"
        )
    if (np.diff(rings.jump_ptr) == 0).any():
        raise FlexNetError(f"{file.source}: a ring has no jumps; it needs at least one")
    usable = rings.size[np.diff(rings.ring_ptr) > 0].astype(np.int64)
    missing = np.setdiff1d(group_sizes, usable)
    if len(missing):
        raise FlexNetError(
            f"{file.source}: no ring is given for all-reduces over {missing[0]} servers; with rings, every group "
            "size in use needs one"
        )
    n_node = file.n_server + file.n_switch
    a, b, _ = file.links.T
    links = np.concatenate([a * n_node + b, b * n_node + a])
    servers = np.arange(file.n_server)
    for jump in np.unique(rings.jump).tolist():
        joined = np.isin(servers * n_node + (servers + jump) % file.n_server, links)
        if not joined.all():
            start = int(np.argmin(joined))
            raise FlexNetError(
                f"{file.source}: a ring jumps {jump} from server {start} to {(start + jump) % file.n_server}, which no "
                "link joins; rings step over links"
            )


def check_talking_pairs(file: TaskGraphFile, pairs: Ints) -> None:
    """Server pairs that exchange data are routed both ways (acknowledgements need the way back).

    Parameters
    ----------
    file : TaskGraphFile
    pairs : int64 (n_pair,)
        ``sender * n_node + receiver``.

    Raises
    ------
    FlexNetError
        If not.
    """
    routes, n_node = file.routes, file.n_server + file.n_switch
    sender, receiver = np.divmod(pairs, n_node)
    needed = np.unique(np.concatenate([pairs, receiver * n_node + sender]))
    routed = path_lengths(file) > 0
    missing = needed[~np.isin(needed, (routes.source * n_node + routes.target)[routed])]
    if len(missing):
        source, target = divmod(int(missing[0]), n_node)
        raise FlexNetError(
            f"{file.source}: servers {source} and {target} exchange data, but route {source} -> {target} is missing; "
            "both directions need a path"
        )


def path_lengths(file: TaskGraphFile) -> Ints:
    """Nodes of the first alternative of every route, 0 where there is none ``(n_route,)``."""
    routes = file.routes
    has_path = np.diff(routes.path_ptr) > 0
    out = np.zeros(len(routes.source), np.int64)
    out[has_path] = np.diff(routes.hop_ptr)[routes.path_ptr[:-1][has_path]]
    return out


def _shorten(nodes: Ints) -> str:
    return " ".join(map(str, nodes[:8].tolist())) + (" ..." if len(nodes) > 8 else "")
