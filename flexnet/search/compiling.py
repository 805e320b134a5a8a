"""Compiles beside a search, in a process of its own, what it needs last, when nothing is compiled yet."""

import multiprocessing
import signal
from random import Random

import numpy as np

from flexnet.kernels import is_kept
from flexnet.network.demand import Demand
from flexnet.network.network import connect
from flexnet.network.packing import pack_cycles
from flexnet.network.relays import relay_trees
from flexnet.network.routes import coin_change_routes, shortest_routes
from flexnet.network.tours import tours_along_routes
from flexnet.network.wiring.balance import balanced
from flexnet.network.wiring.circulants import best_circulants, circulant
from flexnet.network.wiring.reroute import reroute_busiest
from flexnet.network.wiring.rewire import rewired
from flexnet.network.wiring.wire import wire
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import ALLREDUCE, FORWARD, NOMINAL_COMM
from flexnet.plan.transfer_order import spread_transfers
from flexnet.simulate.arrays import network_arrays
from flexnet.simulate.edge_bytes import bytes_of_edges
from flexnet.simulate.fair_work import Room, make_work
from flexnet.simulate.kernels.maxmin import share_links
from flexnet.simulate.kernels.packets import simulate_packets
from flexnet.simulate.packets import FollowedPackets
from flexnet.simulate.protocol import PACKET
from flexnet.taskgraph_file.root_order import iteration_order

__all__ = ["Compiling", "compile_last"]


class Compiling:
    """What is being compiled: nothing, if that was done before or this system cannot fork.

    A search compiles what its first price needs; this, from the other end on, what wires networks and follows packets.
    Whoever needs what the other compiles waits for it (`flexnet.kernels`).
    """

    def __init__(self) -> None:
        self._process = None
        if "fork" in multiprocessing.get_all_start_methods() and not is_kept(simulate_packets):
            self._process = multiprocessing.get_context("fork").Process(target=_compile, daemon=True)
            self._process.start()

    @property
    def goes_on(self) -> bool:
        """Whether there is something to compile, for the first time on this machine."""
        return self._process is not None

    def __enter__(self) -> "Compiling":
        return self

    def __exit__(self, *_: object) -> None:
        """End the process if it is still at it."""
        if self._process is not None:
            self._process.kill()
            self._process.join()


def _compile() -> None:
    signal.set_wakeup_fd(-1)  # which is the first process's
    for number in (signal.SIGINT, signal.SIGTERM):  # the search answers Ctrl-C, and ends this process
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    compile_last()


def compile_last() -> None:
    """Call what a search needs last, on next to nothing, for arguments of the types that a search has."""
    work = make_work(Room(), np.zeros(0, np.int64), watch=False)
    share_links(np.zeros(0), 0.0, work.classes, work.links, 0.0)

    rng = np.random.default_rng(0)
    coin_change_routes(circulant(5, (1,)), (1, 4), rng)
    demand = Demand(6, np.where(np.eye(6, k=3), 1e6, 0.0), {}, {(0, 1, 2, 3): 1e9})
    topology = wire(demand, 2, rng)
    network = balanced(connect(topology, 1e9, 1e-6, shortest_routes(topology, rng)), demand, rng)
    apart = np.eye(8, dtype=np.int64)
    pack_cycles(1 - apart - apart[::-1], Random(0))  # three cycles, the last two of them at once
    tours_along_routes(np.arange(0, 6, 2), 6, network.route_ptr, network.route, network.bandwidth)
    best_circulants(demand, 2, 1, rng)
    relay_trees(network)
    reroute_busiest(rewired(network, topology.links, (), demand, rng), demand, rng)

    tasks = spread_transfers(_graph()).arrays()
    FollowedPackets(PACKET).seconds(tasks, network_arrays(network))
    bytes_of_edges(tasks, network_arrays(network), PACKET)
    iteration_order(np.arange(3, dtype=np.uint64))


def _graph() -> TaskGraph:
    """A task, a transfer from server 0 to 2, and an all-reduce of four of six servers, one after the other."""
    return TaskGraph(
        n_server=6,
        kind=np.array([FORWARD, NOMINAL_COMM, ALLREDUCE], np.int8),
        place=np.array([0, 2, 0], np.int32),
        seconds=np.zeros(3),
        bytes=np.array([0, 1, 4], np.int64),
        succ_ptr=np.array([0, 1, 2, 2], np.int32),
        succ=np.array([1, 2], np.int32),
        group_ptr=np.array([0, 4], np.int32),
        group=np.arange(4, dtype=np.int32),
        op=np.zeros(3, np.int32),
    )
