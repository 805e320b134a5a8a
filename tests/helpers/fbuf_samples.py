"""Task graphs and networks for the tests of task graph files."""

from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
from hypothesis import strategies as st
from task_graphs import permuted

from flexnet.network.network import Network, connect
from flexnet.network.topology import Topology
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, FORWARD, NOMINAL_COMM

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "schemas" / "taskgraph.fbs"
LINK = 12.5e9
GIB = 2**30


def network(n_server, links, n_switch=0, rings=None, latency=1e-6) -> Network:
    """Shortest routes over ``links``, (a, b) or (a, b, count)."""
    n_node = n_server + n_switch
    counts = np.zeros((n_node, n_node), np.int64)
    for a, b, *count in links:
        counts[a, b] = counts[b, a] = count[0] if count else 1
    topology = Topology("test", n_server, n_switch, counts, rings or {})
    link_id = np.full((n_node, n_node), -1, np.int32)
    link_id[counts > 0] = np.arange(np.count_nonzero(counts))
    paths = dict(nx.all_pairs_shortest_path(nx.from_numpy_array(counts > 0)))
    ptr, route = [0], []
    for source in range(n_server):
        for target in range(n_server):
            path = paths[source].get(target, [])
            route += [link_id[a, b] for a, b in pairwise(path)]
            ptr.append(len(route))
    return connect(topology, LINK, latency, (np.array(ptr, np.int32), np.array(route, np.int32)))


def star(n_server) -> Network:
    """All servers on one ideal switch, as a fat tree is written."""
    return network(n_server, [(n_server, i) for i in range(n_server)], n_switch=1)


def circulant(n_server, jumps, rings=None) -> Network:
    """Flat: server i is linked to i + jump for every jump."""
    links = {tuple(sorted((i, (i + jump) % n_server))) for i in range(n_server) for jump in jumps}
    return network(n_server, sorted(links), rings=rings)


def ringed(n_server) -> Network:
    """Flat with rings for the whole job and for half of it."""
    rings = {n_server: ((1,), (n_server - 1,)), n_server // 2: ((1, 1),)}
    return circulant(n_server, (1, 2), {size: paths for size, paths in rings.items() if size > 1})


def task_graph(n_server, tasks, edges, groups=()) -> TaskGraph:
    """``tasks``: (kind, place, seconds, bytes); successors in the order of ``edges``."""
    successors = [[] for _ in tasks]
    for a, b in edges:
        successors[a].append(b)
    kind, place, seconds, size = (list(column) for column in zip(*tasks, strict=True))
    return TaskGraph(
        n_server,
        np.array(kind, np.int8),
        np.array(place, np.int32),
        np.array(seconds, np.float64),
        np.array(size, np.int64),
        np.concatenate([[0], np.cumsum([len(s) for s in successors])]).astype(np.int32),
        np.array([b for s in successors for b in s], np.int32),
        np.concatenate([[0], np.cumsum([len(g) for g in groups])]).astype(np.int32),
        np.array([m for g in groups for m in g], np.int32),
        np.full(len(tasks), -1, np.int32),
    )


def small_graph(n_server=4, reduce_bytes=1000) -> TaskGraph:
    """Two servers compute and exchange, then all reduce; a group of one besides."""
    tasks = [
        (FORWARD, 0, 1e-3, 0),
        (BACKWARD, 0, 2e-3, 0),
        (FORWARD, 1, 1e-3, 0),
        (BACKWARD, 1, 2e-3, 0),
        (ALLREDUCE, 0, 1e-4, reduce_bytes),
        (ALLREDUCE, 1, 0.0, 10 * GIB),
        (NOMINAL_COMM, 0 * n_server + 1, 0.0, 5000),
        (NOMINAL_COMM, 1 * n_server + 0, 0.0, 5000),
    ]
    edges = [(0, 1), (2, 3), (1, 4), (3, 4), (3, 5), (0, 6), (6, 2), (3, 7), (7, 1)]
    return task_graph(n_server, tasks, edges, [range(n_server), (1,)])


def large_graph(n_server=128, n_task=22_446) -> TaskGraph:
    """As many tasks, transfers and members as the 128-server DLRM of the paper."""
    n_compute = n_task - 16_528 - 110
    rng = np.random.default_rng(0)
    source = rng.integers(0, n_server, 16_528)
    place = source * n_server + (source + rng.integers(1, n_server, 16_528)) % n_server
    tasks = [(i % 2, i // 2 % n_server, 1e-3, 0) for i in range(n_compute)]
    tasks += [(ALLREDUCE, i, 0.0, 1 << 20) for i in range(110)]
    tasks += [(NOMINAL_COMM, int(p), 0.0, 1 << 20) for p in place]
    edges = [(i, i + 1) for i in range(0, n_compute, 2)]
    edges += [(i, n_compute + i // 2 % 110) for i in range(1, n_compute, 2)]
    for t in range(n_compute + 110, n_task):
        a, b = sorted(rng.choice(n_compute, 2, replace=False).tolist())
        edges += [(a, t), (t, b)]
    return task_graph(n_server, tasks, edges, [range(n_server)] * 110)


@st.composite
def task_graphs(draw, n_server=6) -> TaskGraph:
    """Graphs that may be exported; successors may have smaller numbers."""
    n = draw(st.integers(1, 20))
    seconds = st.floats(1e-6, 10.0).map(lambda ms: float(np.float32(ms)) * 1e-3)
    tasks, edges, groups = [], [], []
    for i in range(n):
        before = [j for j in range(i) if tasks[j][0] != ALLREDUCE]
        waits = draw(st.lists(st.sampled_from(before), max_size=3)) if before else []
        kind = draw(st.sampled_from([FORWARD, BACKWARD, NOMINAL_COMM] + [ALLREDUCE] * bool(waits)))
        edges += [(j, i) for j in waits]
        if kind == ALLREDUCE:
            groups.append(draw(st.permutations(range(n_server)))[: draw(st.integers(1, n_server))])
            tasks.append((kind, len(groups) - 1, draw(seconds), draw(st.integers(0, 2**32 - 1))))
        elif kind == NOMINAL_COMM:
            a, b = draw(st.permutations(range(n_server)))[:2]
            tasks.append((kind, a * n_server + b, 0.0, draw(st.integers(1, 2**61))))
        else:
            tasks.append((kind, draw(st.integers(0, n_server - 1)), draw(seconds), 0))
    graph = task_graph(n_server, tasks, edges, groups)
    return permuted(graph, np.array(draw(st.permutations(range(n))), np.int64))
