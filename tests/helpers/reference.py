"""Plain-Python builder and simulators the kernels are compared with: same rules, other code, no shortcuts."""

import math
from collections import Counter, defaultdict
from itertools import product
from math import lcm, prod
from typing import NamedTuple

import numpy as np

from flexnet.model.graph import ELEMENT_BYTES, OpType
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, FORWARD, NOMINAL_COMM
from flexnet.simulate.protocol import FLUID

SAME = 1 + 1e-10


class Heap:
    """The binary heap of libstdc++'s priority_queue, earliest first; it decides between equal times."""

    def __init__(self):
        self.items = []

    def __bool__(self):
        return bool(self.items)

    def push(self, ready, item):
        self.items.append((ready, item))
        self._up(len(self.items) - 1)

    def _up(self, at):
        entry = self.items[at]
        while at > 0 and self.items[(at - 1) // 2][0] > entry[0]:
            self.items[at] = self.items[(at - 1) // 2]
            at = (at - 1) // 2
        self.items[at] = entry

    def pop(self):
        top, last = self.items[0], self.items.pop()
        n = len(self.items)
        if n:
            hole = 0
            while 2 * hole + 1 < n:
                left, right = 2 * hole + 1, 2 * hole + 2
                child = left if right >= n or self.items[right][0] > self.items[left][0] else right
                self.items[hole] = self.items[child]
                hole = child
            self.items[hole] = last
            self._up(hole)
        return top


def route(network, src, dst):
    pair = src * network.n_server + dst
    return list(network.route[network.route_ptr[pair] : network.route_ptr[pair + 1]])


def extra_latency(network, path):
    """Seconds of the links of a path above the latency of the fastest link."""
    return sum(float(network.extra_latency[link]) for link in path) if len(network.extra_latency) else 0.0


def links_of(network, number):
    return list(network.route[network.route_ptr[number] : network.route_ptr[number + 1]])


def server_paths(graph, network, task, routes):
    """Links to and from the parameter server of an all-reduce, of every member's flow."""
    members = [int(m) for m in graph.members(task)]
    start = int(graph.group_ptr[graph.place[task]])
    if routes is not None:
        return [
            [links_of(network, routes.edge[2 * (start + i) + back]) for i in range(len(members))] for back in (0, 1)
        ]
    to = [route(network, m, members[0]) for m in members]
    return [to, [route(network, members[0], m) for m in members]]


def ring_paths(graph, network, task, direction=1, routes=None, by_index=False, joined=False):
    """For every ring of an all-reduce, the links of every member's flow; and whether they are rings of the topology.

    ``joined``: rings of the topology only for groups they join, start + i N/g.
    """
    members = [int(m) for m in graph.members(task)]
    n = len(members)
    if joined:
        for s, row in enumerate(network.cycle_member):
            if set(np.flatnonzero(row)) == set(members):
                return [cycle_edges(network, k) for k in range(network.cycle_ptr[s], network.cycle_ptr[s + 1])], True
    first, last = network.ring_ptr[n], network.ring_ptr[n + 1]
    step = network.n_server / n
    if joined and not by_index and any((m - members[0]) % step for m in members):
        first = last
    if first == last and routes is not None:
        start = int(graph.group_ptr[graph.place[task]])
        return [[links_of(network, routes.edge[start + i]) for i in range(n)]], False
    if by_index and first < last:
        members = list(range(n))
    if first == last:
        order = [(k * direction) % n for k in range(n)]
        return [[route(network, members[m], members[(m + direction) % n]) for m in order]], False
    rings = []
    for r in range(first, last):
        hops = (network.ring_hops[r + 1] - network.ring_hops[r]) // network.n_server
        start = network.ring_hops[r]
        rings.append([list(network.ring_links[start + m * hops : start + (m + 1) * hops]) for m in members])
    return rings, True


def cycle_edges(network, cycle):
    """Links of every edge of a cycle."""
    edges = range(network.cycle_edge[cycle], network.cycle_edge[cycle + 1])
    return [list(network.cycle_links[network.cycle_hops[e] : network.cycle_hops[e + 1]]) for e in edges]


def fifo(graph: TaskGraph, network, directions=None, segment=0, keep_lone_sync=False):
    """Iteration time in seconds under the original's rules (simulator.cc:1143, 1241, 1827), computed in its ms."""
    latency = float(np.float32(network.latency * 1e3))
    bandwidth = [b / 1e3 for b in network.bandwidth]
    heap = Heap()
    ready = defaultdict(float)
    waiting = defaultdict(int)
    for t in range(graph.n_task):
        for s in graph.successors(t):
            waiting[int(s)] += 1
    left = {t: int(graph.bytes[t]) for t in range(graph.n_task)}
    link_free, server_free = defaultdict(float), defaultdict(float)
    open_flows = {}
    finish = 0.0
    for t in range(graph.n_task):
        if waiting[t] == 0:
            heap.push(0.0, ("task", t))
    while heap:
        at, (what, x) = heap.pop()
        if what == "update":
            server = int(graph.members(x)[0])
            server_free[server] = max(server_free[server], at)
            finish = max(finish, server_free[server])
            continue
        if what == "flow" or graph.kind[x] == NOMINAL_COMM:
            flow = x if what == "flow" else None
            links = flow["links"] if flow else route(network, *divmod(int(graph.place[x]), network.n_server))
            rest = flow["left"] if flow else left[x]
            size = min(rest, segment) if segment else rest
            clock, end, first_end = at, at if links else 0.0, at
            for i, link in enumerate(links):
                clock = max(link_free[link], clock) + latency + 1e3 * extra_latency(network, [link])
                link_free[link] = clock + size / bandwidth[link]
                end = max(end, link_free[link])
                first_end = link_free[link] if i == 0 else first_end
            if size < rest:
                if flow:
                    flow["left"] -= size
                else:
                    left[x] -= size
                    ready[x] = first_end
                heap.push(first_end, (what, x))
                continue
            finish = max(finish, end)
            if flow:
                group = open_flows[flow["task"]]
                group["open"] -= 1
                group["end"] = max(group["end"], end)
                if group["open"] == 0:
                    heap.push(group["end"], ("update", flow["task"]))
                continue
        elif graph.kind[x] == ALLREDUCE:
            begin = ready[x] + graph.seconds[x] * 1e3
            n = len(graph.members(x))
            if n == 1:
                finish = max(finish, begin) if keep_lone_sync else finish
                continue
            direction = 1 if directions is None else int(directions[graph.place[x]])
            rings, own = ring_paths(graph, network, x, direction)
            share = 2.0 * (n - 1) / n * int(graph.bytes[x])
            size = -int(-share / len(rings) // 1) if own else int(share)
            open_flows[x] = {"open": n * len(rings), "end": 0.0}
            for m in range(n):
                for ring in rings:
                    heap.push(begin, ("flow", {"task": x, "links": ring[m], "left": size}))
            continue
        else:
            server = int(graph.place[x])
            end = max(server_free[server], ready[x]) + float(np.float32(graph.seconds[x] * 1e3))
            server_free[server] = end
            finish = max(finish, end)
        for s in graph.successors(x):
            s = int(s)
            ready[s] = max(ready[s], end)
            waiting[s] -= 1
            if waiting[s] == 0:
                heap.push(ready[s], ("task", s))
    return finish / 1e3


def max_min_rates(flows, weights, bandwidth):
    """Progressive filling: raise all rates together, each by its weight, freeze flows on full links, go on."""
    rates = {}
    room = dict(enumerate(bandwidth))
    open_ = set(range(len(flows)))
    while open_:
        users = defaultdict(float)
        for f in open_:
            for link in flows[f]:
                users[link] += weights[f]
        level = min(room[link] / n for link, n in users.items())
        full = {link for link, n in users.items() if room[link] / n <= level * SAME}
        for f in [f for f in open_ if full.intersection(flows[f])]:
            rates[f] = level * weights[f]
            open_.discard(f)
            for link in flows[f]:
                room[link] -= rates[f]
    return rates


def ring_rounds(n, told, n_ring, protocol):
    """Rounds, and bytes per edge in one: 2(n-1) rounds, or one for small tensors (section 3.2).

    Of ``told`` bytes, which are spread over ``n_ring`` rings: all of an all-reduce, or those of one of its rings.
    """
    if told > protocol.small_packet_bytes * 2 * (n - 1):
        return 2 * (n - 1), told / n / n_ring
    return 1, (2 * (n - 1) / n * told if told < protocol.small_packet_bytes * n else told) / n / n_ring


def deal(n, size, n_ring, turn, protocol):
    """Bytes of every ring, None of those left out, where packets are dealt one by one from ring ``turn`` on.

    And the turn after that.
    """
    least = protocol.small_packet_bytes * 2 * (n - 1)
    equal = [size // n_ring + ((r - turn) % n_ring < size % n_ring) for r in range(n_ring)]
    if not protocol.packet_bytes or size / n_ring <= least:
        return equal, turn
    packet = int(protocol.packet_bytes) * n  # of a round, in all rounds of one half
    n_packet = math.ceil((size - n) / packet) or 1
    used = n_ring
    while used > 1 and n_packet // used * packet <= least + (n_packet < used):
        used -= 1
    dealt = [0] * n_ring
    for i in range(n_packet):
        dealt[(turn + i % used) % n_ring] += 1
    stays = used == n_ring and n_packet % used == 0
    if n_packet % used == 0:  # as many on all: then the last one need not be full
        parts = [None] * n_ring
        for i in range(used):
            parts[(turn + i) % n_ring] = size // used + (i < size % used)
    else:
        parts = [each * packet if each else None for each in dealt]
        parts[turn] = size - sum(part for r, part in enumerate(parts) if r != turn and part)
    return parts, turn if stays else (turn + (n_packet if used == n_ring else used)) % n_ring


def told_to_rings(graph, network, protocol, routes=None):
    """Of every all-reduce task bytes told to its rings, None of those left out; and over how many rings each is spread.

    Files have an all-reduce for every ring if some all-reduce runs over cycles, or over regular rings of fewer than all
    servers that begin where they are meant to.
    """
    tasks = [t for t in range(graph.n_task) if graph.kind[t] == ALLREDUCE]
    sets = [set(np.flatnonzero(row)) for row in network.cycle_member]
    rings = {}
    apart = False
    for t in tasks:
        members = graph.members(t).tolist()
        found, own = ring_paths(graph, network, t, 1, routes, protocol.rings_by_index, joined=True)
        rings[t] = len(found)
        apart |= len(members) > 1 and set(members) in sets
        apart |= own and 1 < len(members) < network.n_server and not protocol.rings_by_index
    told, turn = {}, 0
    for t in tasks:
        size, n = int(graph.bytes[t]), len(graph.members(t))
        if not apart or n == 1 or rings[t] == 1:
            told[t] = [size] * rings[t], 1 if apart else rings[t]
        else:
            parts, after = deal(n, size, rings[t], turn % rings[t], protocol)
            turn += (after - turn) % rings[t]
            told[t] = parts, 1
    return told


def whole_packets(size, protocol):
    """Bytes of all packets of a flow."""
    packet = protocol.packet_bytes
    return max(math.ceil((size - 1) / packet), 1) * packet if packet else size


def share(size, hops, protocol):
    """What a ring weighs beside others, by the size of a round and the hops of its longest edge."""
    if not protocol.by_window:
        return 1.0
    length = sum(size >= packets * protocol.packet_bytes for packets in (850, 1250, 2800))
    return (12.0, 3.5, 1.5, 1.0)[length] * max(hops, 1) ** -(0.0, 0.3, 1.2, 2.0)[length]


def weights_of(flows, protocol):
    """Weights of flows at a moment: of old transfers by the links of their path that others use too."""
    crowd = Counter(link for f in flows for link in f["links"])

    def weight(f):
        if "size" not in f or not protocol.by_window:
            return f.get("weight", 1.0)
        return 12.0 if f["young"] else max(sum(crowd[link] > 1 for link in f["links"]), 1) ** -2.0

    return [weight(f) for f in flows]


class Timers:
    """What is sent twice as windows of packets wait for more than a sender does; flows that open are told in order."""

    def __init__(self, network, protocol):
        self.bandwidth, self.protocol = network.bandwidth, protocol
        self.drained, self.busy = (
            defaultdict(float),
            defaultdict(float),
        )  # until when windows wait for a link, and since
        self.late = {}  # when one waited too long last, and the largest share too late of that busy time

    def too_late(self, wait):
        return min(max(wait - self.protocol.least_patience, 0.0) / self.protocol.tick, 1.0)

    def open(self, flow, now):
        """Put its first window into all queues; send it twice if it waits too long itself."""
        window = self.protocol.first_window * self.protocol.packet_bytes
        longest = 0.0
        for link in flow["links"]:
            wait = max(self.drained[link] - now, 0.0)
            if wait == 0.0:
                self.busy[link] = now
            elif wait > self.protocol.least_patience:
                time, share = self.late.get(link, (-1.0, 0.0))
                known = share if time >= self.busy[link] else 0.0
                self.late[link] = now, max(known, self.too_late(wait))
            self.drained[link] = now + wait + min(flow["size"], window) / self.bandwidth[link]
            longest = max(longest, wait)
        flow["opened"], flow["again"] = now, 0.0
        if flow["size"] > window and longest > self.protocol.least_patience:
            flow["left"] += 1.17 * window * self.too_late(longest)
        elif flow["size"] > window:
            flow["again"] = 1.17 * min(flow["size"] - window, window)

    def again(self, flow):
        """Bytes more at its end, once: of its second window, which waited for all first ones."""
        late = [self.late[link] for link in flow["links"] if link in self.late]
        more = flow["again"] * max((share for time, share in late if time >= flow["opened"]), default=0.0)
        if more > 0.0:
            flow["again"] = 0.0
        return more


def fair(graph: TaskGraph, network, protocol=FLUID, routes=None):
    """Iteration time with links shared max-min fairly, rates solved anew at every instant; ends of tasks too.

    ``routes`` (`flexnet.simulate.arrays.FlowRoutes`) says which route of the network every flow takes.
    """
    waiting = defaultdict(int)
    for t in range(graph.n_task):
        for s in graph.successors(t):
            waiting[int(s)] += 1
    queues, running = defaultdict(list), {}
    flows, timers = [], []
    ends = {}
    now = 0.0
    told = {} if protocol.by_server else told_to_rings(graph, network, protocol, routes)
    senders = Timers(network, protocol)

    def delay(paths, rounds):
        hops = max(len(path) for path in paths)
        if hops == 0:
            return 0.0
        slowest = min(network.bandwidth[link] for path in paths for link in path)
        latency = max(len(path) * network.latency + extra_latency(network, path) for path in paths)
        return rounds * (protocol.round_trips * latency + (hops - 1) * protocol.packet_bytes / slowest)

    def release(t):
        if graph.kind[t] == NOMINAL_COMM:
            links = route(network, *divmod(int(graph.place[t]), network.n_server))
            if routes is not None:
                links = links_of(network, routes.transfer[t])
            size = whole_packets(int(graph.bytes[t]), protocol)
            young = min(size, 720 * protocol.packet_bytes) if protocol.by_window else size
            flows.append({"links": links, "left": young, "size": size, "done": ("end", t)})
            flows[-1].update(young=True, later=size - young, delay=delay([links], 1))
        elif graph.kind[t] == ALLREDUCE:
            timers.append((now + graph.seconds[t], ("rings", t)))
        else:
            queues[int(graph.place[t])].append((now, 2 * graph.op[t] + graph.kind[t], len(queues), t))

    def start_phase(paths, t, what):
        size = whole_packets(int(graph.bytes[t]), protocol)
        flows.append({"links": [link for path in paths for link in path], "left": size, "done": (what, t)})
        flows[-1].update(weight=share(size, max(map(len, paths)), protocol), delay=delay(paths, 1))

    for t in range(graph.n_task):
        if waiting[t] == 0:
            release(t)
    while True:
        for server, queue in queues.items():
            if server not in running and queue:
                queue.sort(key=lambda entry: entry[:2])
                t = queue.pop(0)[3]
                running[server] = t
                timers.append((now + graph.seconds[t], ("end", t)))
        for f in [f for f in flows if not f["links"]]:  # within one server: there at once
            flows.remove(f)
            timers.append((now, f["done"]))
        for f in sorted((f for f in flows if "size" in f and "opened" not in f), key=lambda f: f["done"][1]):
            if protocol.by_window:
                senders.open(f, now)
        rates = max_min_rates([f["links"] for f in flows], weights_of(flows, protocol), network.bandwidth)
        times = [time for time, _ in timers] + [now + f["left"] / rates[i] for i, f in enumerate(flows)]
        if not times:
            return max(ends.values(), default=0.0), ends
        then = max(now, min(times))
        for i, f in enumerate(flows):
            f["finish"] = now + f["left"] / rates[i]
            f["left"] -= rates[i] * (then - now)
        now = then
        for f in flows:
            if f["finish"] <= now * SAME and f.get("again", 0.0) > 0.0 and (more := senders.again(f)) > 0.0:
                f["left"], f["finish"] = more, np.inf
            if f["finish"] <= now * SAME and f.get("later", 0.0) > 0.0:
                f["left"], f["finish"], f["later"], f["young"] = f["later"], np.inf, 0.0, False
        timers += [(now + f["delay"], f["done"]) for f in flows if f["finish"] <= now * SAME]
        flows = [f for f in flows if f["finish"] > now * SAME]
        due = [what for time, what in timers if time <= now * SAME]
        timers = [(time, what) for time, what in timers if time > now * SAME]
        for what, t in due:
            if what == "rings":
                ends[t] = now
                n = len(graph.members(t))
                if n > 1 and protocol.by_server:
                    to, _ = server_paths(graph, network, t, routes)
                    start_phase(to, t, "gathered")
                elif n > 1:
                    rings, _ = ring_paths(graph, network, t, 1, routes, protocol.rings_by_index, joined=True)
                    for ring, part in zip(rings, told[t][0], strict=True):
                        if part is None:
                            continue
                        links = [link for path in ring for link in path]
                        rounds, size = ring_rounds(n, part, told[t][1], protocol)
                        size = whole_packets(size, protocol)
                        flows.append({"links": links, "left": rounds * size, "done": ("ring", t)})
                        flows[-1].update(weight=share(size, max(map(len, ring)), protocol), delay=delay(ring, rounds))
                continue
            if what == "gathered":
                start_phase(server_paths(graph, network, t, routes)[1], t, "ring")
                continue
            ends[t] = now
            if what == "ring":
                continue
            if graph.kind[t] <= 1:
                del running[int(graph.place[t])]
            for s in graph.successors(t):
                s = int(s)
                waiting[s] -= 1
                if waiting[s] == 0:
                    release(s)


def link_bytes(graph: TaskGraph, network, protocol=FLUID, routes=None, packets=False):
    """Bytes every link has to carry: of each flow, its demand on every hop, or with ``packets`` its packets."""
    total = [0.0] * len(network.bandwidth)

    def add(path, size):
        for link in path:
            total[link] += size

    told = {} if protocol.by_server else told_to_rings(graph, network, protocol, routes)
    for t in range(graph.n_task):
        size = float(graph.bytes[t])
        if graph.kind[t] == NOMINAL_COMM:
            pair = divmod(int(graph.place[t]), network.n_server)
            size = whole_packets(size, protocol) if packets else size
            add(route(network, *pair) if routes is None else links_of(network, routes.transfer[t]), size)
        elif graph.kind[t] == ALLREDUCE and (n := len(graph.members(t))) > 1:
            if protocol.by_server:
                rings = server_paths(graph, network, t, routes)
                parts = [(1, size)] * len(rings)
            else:
                rings, _ = ring_paths(graph, network, t, 1, routes, protocol.rings_by_index, joined=True)
                parts = [(0, 0) if part is None else ring_rounds(n, part, told[t][1], protocol) for part in told[t][0]]
            for ring, (rounds, own) in zip(rings, parts, strict=True):
                for path in ring:
                    add(path, rounds * (whole_packets(own, protocol) if packets else own))
    return total


class Tasks(NamedTuple):
    """A task graph as lists, one entry per task; ``groups`` one entry per all-reduce."""

    kind: list
    place: list
    seconds: list
    bytes: list
    op: list
    succ: list
    groups: list


def coordinates(degrees):
    """Of every part in order: little-endian, dimension 0 varies fastest."""
    return [at[::-1] for at in product(*(range(degree) for degree in reversed(degrees)))]


def part_box(dims, degrees, at):
    """First and last index of every dimension that part ``at`` holds."""
    sizes = [dim // degree for dim, degree in zip(dims, degrees, strict=True)]
    return [(i * size, (i + 1) * size - 1) for i, size in zip(at, sizes, strict=True)]


def input_box(op, number, dims, degrees, at, sharded):
    """First and last index of every dimension of an input that part ``at`` of ``op`` reads (model.cc:798-868)."""
    if sharded:
        degrees, at = (*degrees, 1)[: op.rank + 1], (*at, 0)[: op.rank + 1]
        if op.kind == OpType.LINEAR:  # the last is the reduction, over input channels
            return part_box(dims, (degrees[-1], *degrees[1:-1]), (at[-1], *at[1:-1]))
        if op.kind == OpType.CONV2D:
            box = part_box(dims, (1, 1, degrees[4], degrees[3]), (0, 0, at[4], at[3]))
            for k, axis in enumerate("wh"):
                if degrees[k] > 1:
                    size = op.outputs[0].dims[k] // degrees[k]
                    stride, padding = op.attrs[f"stride_{axis}"], op.attrs[f"padding_{axis}"]
                    read = [
                        e * stride - padding + tap
                        for e in range(at[k] * size, (at[k] + 1) * size)
                        for tap in range(op.attrs[f"kernel_{axis}"])
                    ]
                    read = [e for e in read if 0 <= e < dims[k]]
                    box[k] = (min(read), max(read)) if read else (0, -1)
            return box
        if op.kind == OpType.FLAT and len(dims) > 2:
            inner = [1] * (len(dims) - 2)
            return part_box(dims, (*inner, *degrees[:2]), (*[0] * len(inner), *at[:2]))
        if op.kind == OpType.MULTI_HEAD_ATTENTION:
            steps = (degrees[1], at[1]) if number == 0 else (1, 0)
            return part_box(dims, (1, steps[0], degrees[2]), (0, steps[1], at[2]))
        degrees, at = degrees[: op.rank], at[: op.rank]
        if op.kind == OpType.CONCAT and op.rank < 4:  # elements of the output, less those of the inputs before
            box = part_box(op.outputs[0].dims, degrees, at)
            k = op.rank - 1 - op.attrs["axis"]
            before = sum(source.tensor.dims[k] for source in op.inputs[:number])
            box[k] = (max(box[k][0] - before, 0), min(box[k][1] - before, dims[k] - 1))
            return box
    if len(dims) != len(degrees):  # only the batch is cut
        degrees, at = (*[1] * (len(dims) - 1), degrees[-1]), (*[0] * (len(dims) - 1), at[-1])
    return part_box(dims, degrees, at)


def shard_dims(op, weight):
    """Dimensions of a config that shard a weight, and those in which parts have all-reduces of their own."""
    if op.kind == OpType.LINEAR:
        return ((0, op.rank) if weight == 0 else (0,)), (0, op.rank)
    if op.kind == OpType.CONV2D:
        return ((2, 4) if weight == 0 else (2,)), (2, 4)
    return ((3,), (3,)) if op.kind == OpType.MULTI_HEAD_ATTENTION else ((), ())


def overlap(a, b):
    return prod(max(0, min(x[1], y[1]) - max(x[0], y[0]) + 1) for x, y in zip(a, b, strict=True))


def output_type(graph, op, inherit):
    """Data type of an operator's outputs; the original takes that of input 0, as far back as it goes."""
    while inherit and op.inputs[0].op is not None:
        op = graph.operators[op.inputs[0].op]
    return op.inputs[0].tensor.dtype if inherit else None


def seconds_in_server(problem, op, size):
    """Seconds GPUs of a server take to reduce among themselves."""
    k, semantics = problem.cluster.big_gpu, problem.semantics
    if not k or op.kind == OpType.EMBEDDING:
        return 0.0
    moved = 2.0 * (k - 1) / k * size if semantics.intra_server_factor_exact else 2 * size // k
    return moved / problem.cluster.inter_gpu_bandwidth


def let_wait(problem, configs, tasks, first, config, task):
    """An all-reduce that waits for the backward pass of another operator."""
    for other in problem.graph.operators:
        if other.name == config.after:
            for j in range(len(configs[other.index].devices)):
                tasks.succ[first[other.index] + 2 * j + 1].append(task)


def add_shared(problem, configs, tasks, add, first, users):
    """All-reduces of a weight that operators share: of every piece among all servers with a part that has it."""
    parts = []  # of all users: operator, number, and first and last piece of every dimension
    axes = [(op.rank, 0) if len(op.weights[w].dims) > 1 else (0,) for op, w in users]
    degrees = [
        [(*configs[op.index].degrees, 1)[axis] for axis in own] for (op, _), own in zip(users, axes, strict=True)
    ]
    pieces = [lcm(*along) for along in zip(*degrees, strict=True)]
    for (op, _), own, cut in zip(users, axes, degrees, strict=True):
        for j, at in enumerate(coordinates(configs[op.index].degrees)):
            parts.append((op, j, [((*at, 0)[axis], n) for axis, n in zip(own, cut, strict=True)]))
    op, w = users[0]
    size = 4 * op.weights[w].volume // prod(pieces)
    for piece in coordinates(pieces):
        task = add(ALLREDUCE, len(tasks.groups), seconds_in_server(problem, op, size), size, op.index)
        holders = [
            (other, j)
            for other, j, shard in parts
            if all(k // (whole // n) == i for k, whole, (i, n) in zip(piece, pieces, shard, strict=True))
        ]
        own = [configs[op.index].devices[j] for other, j in holders if other is op]
        others = dict.fromkeys(configs[other.index].devices[j] for other, j in holders)
        tasks.groups.append(own + [server for server in others if server not in own])
        for other, j in holders:
            tasks.succ[first[other.index] + 2 * j + 1].append(task)
        let_wait(problem, configs, tasks, first, configs[op.index], task)


def build(problem, configs):
    """Task graph of one config per operator: simulator.cc:801, step by step."""
    graph, cluster, semantics = problem.graph, problem.cluster, problem.semantics
    tasks = Tasks([], [], [], [], [], [], [])

    def add(*values):
        for column, value in zip(tasks, (*values, []), strict=False):
            column.append(value)
        return len(tasks.kind) - 1

    first = []
    for op, config in zip(graph.operators, configs, strict=True):
        entry = problem.table.lookup(op.key, config.degrees)
        first.append(len(tasks.kind))
        for device in config.devices:
            forward = add(FORWARD, device, entry.forward, 0, op.index)
            tasks.succ[forward].append(add(BACKWARD, device, entry.backward, 0, op.index))
    for op, config in zip(graph.operators, configs, strict=True):
        parts = coordinates(config.degrees)
        for w, weight in enumerate(op.weights):
            if semantics.shard_parameters and w in op.tied:
                continue
            users = [(x, i) for x in graph.operators for i, first_of in x.tied.items() if first_of == (op.index, w)]
            if semantics.shard_parameters and users:
                add_shared(problem, configs, tasks, add, first, [(op, w), *users])
                continue
            cut, own = shard_dims(op, w) if semantics.shard_parameters else ((), ())
            own = [k for k in own if k < len(config.degrees)]
            size = 4 * weight.volume // prod(config.degrees[k] for k in cut if k < len(config.degrees))
            for group in coordinates([config.degrees[k] for k in own]):
                holders = [j for j, at in enumerate(parts) if tuple(at[k] for k in own) == group]
                task = add(ALLREDUCE, len(tasks.groups), seconds_in_server(problem, op, size), size, op.index)
                tasks.groups.append([config.devices[j] for j in holders])
                for j in holders:
                    tasks.succ[first[op.index] + 2 * j + 1].append(task)
                let_wait(problem, configs, tasks, first, config, task)
    brought = {}  # of every tensor: what edges bring of it where, with the tasks that do
    for op, config in zip(graph.operators, configs, strict=True):
        for number, source in enumerate(op.inputs):
            if source.op is None:
                continue
            boxes = [
                input_box(op, number, source.tensor.dims, config.degrees, to, semantics.shard_parameters)
                for to in coordinates(config.degrees)
            ]
            boxes = [box if all(low <= high for low, high in box) else [] for box in boxes]
            reads = list(zip(config.devices, boxes, strict=True))
            before = brought.setdefault((source.op, source.output), [])
            alike = [(reader, sent) for reader, same, sent in before if semantics.share_transfers and same == reads]
            if any(reader == op.index for reader, _ in alike):
                continue
            sent = alike[0][1] if alike else {}
            before.append((op.index, reads, sent))
            producer, dims = configs[source.op], source.tensor.dims
            dtype = output_type(graph, graph.operators[source.op], semantics.inherit_element_size)
            element = ELEMENT_BYTES[dtype or source.tensor.dtype]
            for j, to in enumerate(coordinates(config.degrees)):
                read = input_box(op, number, dims, config.degrees, to, semantics.shard_parameters)
                for i, at in enumerate(coordinates(producer.degrees)):
                    whole = len(graph.operators[source.op].outputs[0].dims)  # behind them a reduction's
                    size = element * overlap(read, part_box(dims, producer.degrees[:whole], at[:whole]))
                    if not size:
                        continue
                    src, dst = producer.devices[i], config.devices[j]
                    src_task, dst_task = first[source.op] + 2 * i, first[op.index] + 2 * j
                    if src == dst:
                        tasks.succ[src_task].append(dst_task)
                        tasks.succ[dst_task + 1].append(src_task + 1)
                        continue
                    if alike:
                        there, back = sent[i, j]
                        tasks.succ[there].append(dst_task)
                        tasks.succ[dst_task + 1].append(back)
                        continue
                    there = add(NOMINAL_COMM, src * cluster.n_server + dst, 0.0, size, op.index)
                    back = add(NOMINAL_COMM, dst * cluster.n_server + src, 0.0, size, op.index)
                    sent[i, j] = there, back
                    for a, b in ((src_task, there), (there, dst_task), (dst_task + 1, back), (back, src_task + 1)):
                        tasks.succ[a].append(b)
    return tasks
