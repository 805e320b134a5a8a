"""Random task graphs and networks for property tests."""

import itertools

import networkx as nx
import numpy as np

from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, FORWARD, NOMINAL_COMM
from flexnet.simulate.arrays import FlowRoutes, NetworkArrays


def random_network(rng: np.random.Generator) -> NetworkArrays:
    """A connected direct network of 2 to 6 servers with shortest routes, half the time with rings for all groups."""
    n = int(rng.integers(2, 7))
    graph = nx.gnp_random_graph(n, 0.5, seed=int(rng.integers(2**31)))
    nx.add_cycle(graph, range(n))
    link = {}
    bandwidth = []
    for a in range(n):
        for b in sorted(graph[a]):
            link[a, b] = len(bandwidth)
            bandwidth.append(float(rng.integers(1, 4)) * 1e9)
    paths = dict(nx.all_pairs_shortest_path(graph))
    route_ptr, route = [0], []
    for a in range(n):
        for b in range(n):
            route += [link[x, y] for x, y in zip(paths[a][b], paths[a][b][1:], strict=False)]
            route_ptr.append(len(route))
    ring_ptr, ring_hops, ring_links = [0] * (n + 2), [0], []
    if rng.random() < 0.5:
        for g in range(2, n + 1):
            for step in (1, n - 1)[: int(rng.integers(1, 3))]:
                for m in range(n):
                    hops = [(m + i * step) % n for i in range(n // g + 1)]
                    ring_links += [link[a, b] for a, b in itertools.pairwise(hops)]
                ring_hops.append(len(ring_links))
            ring_ptr[g + 1] = len(ring_hops) - 1
    ints = [np.array(a, np.int32) for a in (route_ptr, route, ring_ptr, ring_hops, ring_links)]
    latency = float(rng.choice([0.0, 1e-6, 1e-3]))
    extra = rng.choice([0.0, 1e-6, 1e-4], len(bandwidth)) if rng.random() < 0.3 else np.zeros(0)
    cycles = random_cycles(rng, n, paths, link) if rng.random() < 0.5 else ()
    return NetworkArrays(n, latency, np.array(bandwidth), extra, *ints, *cycles)


def random_cycles(rng: np.random.Generator, n: int, paths, link) -> tuple[np.ndarray, ...]:
    """Cycle arrays of a network: one to three cycles for each of some sets of servers."""
    sets = {
        tuple(sorted(rng.permutation(n)[: int(rng.integers(2, n + 1))].tolist())) for _ in range(rng.integers(1, 5))
    }
    ptr, edge, hops, links = [0], [0], [0], []
    for members in sorted(sets):
        for _ in range(int(rng.integers(1, 4))):
            cycle = rng.permutation(members).tolist()
            for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
                links += [link[pair] for pair in itertools.pairwise(paths[a][b])]
                hops.append(len(links))
            edge.append(len(hops) - 1)
        ptr.append(len(edge) - 1)
    member = np.array([[server in members for server in range(n)] for members in sorted(sets)])
    ptr, edge, hops, links = (np.array(a, np.int32) for a in (ptr, edge, hops, links))
    return ptr, member, edge, hops, links


def random_routes(rng, network: NetworkArrays, graph: TaskGraph, protocol) -> tuple[NetworkArrays, FlowRoutes]:
    """A network whose pairs have two routes, and a route for every flow: of the routes there are, any.

    The second route of a pair is that of another pair with other ends, which the engine need not know.
    """
    n = network.n_server
    longest = [network.route[a:b] for a, b in itertools.pairwise(network.route_ptr)]
    others = [longest[i] for i in np.where(rng.random(n * n) < 0.5, np.arange(n * n), rng.permutation(n * n))]
    routes = [path if len(path) == 0 or len(other) == 0 else other for path, other in zip(longest, others, strict=True)]
    both = longest + routes
    ptr = np.concatenate([[0], np.cumsum([len(path) for path in both])]).astype(np.int32)

    def pick(pair):
        return pair + n * n * int(rng.integers(0, 2))

    transfer = np.array([pick(p) if k == NOMINAL_COMM else 0 for k, p in zip(graph.kind, graph.place, strict=True)])
    edge = []
    for begin, end in itertools.pairwise(graph.group_ptr.tolist()):
        members = graph.group[begin:end].tolist()
        for i, member in enumerate(members):
            if protocol.by_server:
                edge += [pick(member * n + members[0]), pick(members[0] * n + member)]
            else:
                edge.append(pick(member * n + members[(i + 1) % len(members)]))
    arrays = network._replace(route_ptr=ptr, route=np.concatenate(both).astype(np.int32))
    return arrays, FlowRoutes(transfer.astype(np.int32), np.array(edge, np.int32))


def random_graph(rng: np.random.Generator, n_server: int) -> TaskGraph:
    """A legal task graph: compute tasks wait for earlier ones, some over transfers, some end in all-reduces.

    Sizes and times are few round numbers, so that ties are common.
    """
    n_compute = int(rng.integers(1, 15))
    scale = (1, 3, 10, 40)[n_compute % 4]  # flows of all the lengths that windows tell apart
    kind, place, seconds, size, op, succ, groups = [], [], [], [], [], [], []

    def add(k, p, s, b, o):
        kind.append(k)
        place.append(p)
        seconds.append(s)
        size.append(b)
        op.append(o)
        succ.append([])
        return len(kind) - 1

    servers = [int(s) for s in rng.integers(0, n_server, n_compute)]
    tasks = []
    for i, server in enumerate(servers):
        tasks.append(add(int(rng.choice([FORWARD, BACKWARD])), server, float(rng.integers(0, 4)) * 1e-3, 0, i))
        for j in rng.permutation(i)[: int(rng.integers(0, 3))]:
            if servers[j] == server:
                succ[tasks[j]].append(tasks[i])
            else:
                bytes_ = int(rng.integers(1, 5)) * 1_000_003 * scale
                comm = add(NOMINAL_COMM, servers[j] * n_server + server, 0.0, bytes_, i)
                succ[tasks[j]].append(comm)
                succ[comm].append(tasks[i])
        if rng.random() < 0.4:
            members = [int(m) for m in rng.permutation(n_server)[: int(rng.integers(1, n_server + 1))]]
            seconds_ = float(rng.integers(0, 2)) * 1e-3
            reduce_ = add(ALLREDUCE, len(groups), seconds_, int(rng.integers(1, 9)) * 10**6 * scale, i)
            succ[tasks[i]].append(reduce_)
            groups.append(members)
    return TaskGraph(
        n_server,
        np.array(kind, np.int8),
        np.array(place, np.int32),
        np.array(seconds),
        np.array(size, np.int64),
        np.concatenate([[0], np.cumsum([len(s) for s in succ])]).astype(np.int32),
        np.array([t for s in succ for t in s], np.int32),
        np.concatenate([[0], np.cumsum([len(g) for g in groups])]).astype(np.int32),
        np.array([m for g in groups for m in g], np.int32),
        np.array(op, np.int32),
    )
