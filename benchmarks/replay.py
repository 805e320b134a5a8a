"""Speed of replaying task graphs: the 16-server graphs in DIR, and DLRM on 128 and 1024 servers.

    python benchmarks/replay.py --data DIR

DIR holds ``taskgraphs/*.fbuf``.  The larger DLRMs are data parallel with their tables dealt round the servers, on one
ideal switch at 100 Gbps, times by the roofline.  Median of five, one core, kernels warm, peak memory of the process.
"""

import argparse
import resource
import statistics
import time
from pathlib import Path

import numpy as np

from flexnet.cost.roofline import roofline_table
from flexnet.model.zoo import MODELS
from flexnet.network.network import Network, connect
from flexnet.network.routes import routes_for
from flexnet.network.topologies.fattree import fat_tree
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import make_strategy
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_graph_builder import build
from flexnet.search.moves.space import make_space
from flexnet.search.starts.data_parallel import data_parallel
from flexnet.simulate.arrays import network_arrays
from flexnet.simulate.fair import FairLinks
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


def report(name: str, graph: TaskGraph, network: Network) -> None:
    tasks, arrays = graph.arrays(), network_arrays(network)
    simulator = FairLinks(protocol=PACKET)
    simulator.seconds(tasks, arrays)
    times = []
    for _ in range(5):
        began = time.process_time()
        seconds = simulator.seconds(tasks, arrays)
        times.append(time.process_time() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name:20} {graph.n_task:8} tasks  iteration {seconds * 1e3:10.3f} ms  "
        f"replay {statistics.median(times) * 1e3:9.2f} ms  peak {peak:6.0f} MB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    args = parser.parse_args()
    for path in sorted(args.data.glob("taskgraphs/*.fbuf")):
        file = read_taskgraph(path)
        network = to_network(file, file.link_bytes_per_ms * 1e3, us_to_s(1))
        report(path.stem, to_task_graph(file), network)
    report("dlrm, 128 servers", *dlrm(128, 64))
    report("dlrm, 1024 servers", *dlrm(1024, 64))


if __name__ == "__main__":
    main()
