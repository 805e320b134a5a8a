"""Speed of replaying task graphs: the graphs and found plans in DIR, and DLRM on 128 and 1024 servers.

    python benchmarks/replay.py --data DIR [--only NAME]

DIR holds ``taskgraphs/*.fbuf`` and ``found_plans/``.  The larger DLRMs are data parallel with their tables dealt round
the servers, on one ideal switch at 100 Gbps, times by the roofline.  Links shared fairly, and packet by packet where
that is soon done, with rings of which one edge is followed and with every edge by itself.  CPU seconds of one core,
kernels warm: the median of five, or of one where a replay takes more than two seconds; peak memory of the process.
"""

import argparse
import resource
import statistics
import time
from pathlib import Path
from unittest import mock

import numpy as np

from flexnet.cost.roofline import roofline_table
from flexnet.model.zoo import MODELS
from flexnet.network.network import Network, connect
from flexnet.network.routes import routes_for
from flexnet.network.topologies.fattree import fat_tree
from flexnet.plan.arrays import TaskArrays
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import make_strategy
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_graph_builder import build
from flexnet.published.experiments import found_plans
from flexnet.search.moves.space import make_space
from flexnet.search.starts.data_parallel import data_parallel
from flexnet.simulate import packets
from flexnet.simulate.arrays import NetworkArrays, network_arrays
from flexnet.simulate.fair import FairLinks
from flexnet.simulate.kernels.packet_state import Lockstep
from flexnet.simulate.link_model import LinkModel
from flexnet.simulate.lockstep import find_lockstep
from flexnet.simulate.packets import FollowedPackets
from flexnet.simulate.priced_links import replayed_links
from flexnet.simulate.protocol import PACKET
from flexnet.taskgraph_file.convert import to_network, to_task_graph
from flexnet.taskgraph_file.read import read_taskgraph
from flexnet.units import gbps_to_bytes_per_s, us_to_s


def dlrm(n_server: int, n_table: int) -> tuple[TaskGraph, Network]:
    flags = {
        "--arch-sparse-feature-size": 128,
        "--arch-embedding-size": [10**7] * n_table,
        "--embedding-bag-size": 100,
        "--arch-mlp-bot": [2048] * 8,
        "--arch-mlp-top": [4096] * 16 + [1],
    }
    graph = MODELS["dlrm"].build(flags, 512 * n_server)
    table = roofline_table(graph, "a100", n_server=n_server, big_gpu=4)
    cluster = Cluster(n_server, 4, gbps_to_bytes_per_s(200), gbps_to_bytes_per_s(100), us_to_s(1))
    problem = make_problem(graph, table, cluster, CORRECTED)
    rng = np.random.default_rng(0)
    configs = data_parallel(rng, make_space(problem, strided=True))
    topology = fat_tree(n_server)
    network = connect(topology, cluster.link_bandwidth, cluster.latency, routes_for(topology, CORRECTED, rng))
    return build(problem, make_strategy(problem, configs)), network


def cpu_seconds(links: LinkModel, tasks: TaskArrays, arrays: NetworkArrays) -> float:
    """Of a replay, the median of five."""
    times: list[float] = []
    while len(times) < 5 and sum(times) < 2.0:
        began = time.process_time()
        links.seconds(tasks, arrays)
        times.append(time.process_time() - began)
    return statistics.median(times)


def every_edge(*args) -> Lockstep:
    """No ring of which one edge is followed for all."""
    lockstep = find_lockstep(*args)
    lockstep.track[:] = -1
    return lockstep


def report(name: str, graph: TaskGraph, network: Network) -> None:
    tasks, arrays = graph.arrays(), network_arrays(network)
    shared, followed = FairLinks(protocol=PACKET), FollowedPackets(PACKET)
    shared.seconds(tasks, arrays)  # takes memory
    cells = [f"{cpu_seconds(shared, tasks, arrays) * 1e3:9.2f}"]
    seconds = shared.seconds(tasks, arrays)
    if replayed_links(tasks, arrays, PACKET).name == followed.name:
        seconds = followed.seconds(tasks, arrays)
        cells.append(f"{cpu_seconds(followed, tasks, arrays) * 1e3:9.2f}")
        with mock.patch.object(packets, "find_lockstep", every_edge):
            cells.append(f"{cpu_seconds(followed, tasks, arrays) * 1e3:9.2f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name:32} {graph.n_task:8} tasks  iteration {seconds * 1e3:10.3f} ms  "
        f"shared, packets, every edge {' '.join(cells)} ms  peak {peak:6.0f} MB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    first = FollowedPackets(PACKET)
    graph, network = dlrm(2, 2)
    first.seconds(graph.arrays(), network_arrays(network))  # compiles
    for path in sorted(args.data.glob("taskgraphs/*.fbuf")):
        if args.only in path.stem:
            file = read_taskgraph(path)
            report(path.stem, to_task_graph(file), to_network(file, file.link_bytes_per_ms * 1e3, us_to_s(1)))
    for plan in found_plans(args.data):
        if args.only in plan.name:
            network = to_network(plan.file, gbps_to_bytes_per_s(plan.gbps), plan.latency_ns * 1e-9)
            report(plan.name, to_task_graph(plan.file), network)
    for n_server in (128, 1024):
        if args.only in (name := f"dlrm, {n_server} servers"):
            report(name, *dlrm(n_server, 64))


if __name__ == "__main__":
    main()
