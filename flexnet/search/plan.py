"""A plan: a strategy on a network, priced.  What a search finds, and what can be changed by hand and priced again."""

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from flexnet.cost.table import config_text
from flexnet.errors import FlexNetError, counted
from flexnet.files import printable
from flexnet.network.demand import demand_of
from flexnet.network.network import Network
from flexnet.network.relays import trees_on
from flexnet.network.topology import Topology
from flexnet.plan.memory import memory_needed
from flexnet.plan.problem import Problem
from flexnet.plan.strategy import Config, Configs, Strategy, configs_of, make_strategy
from flexnet.plan.strategy_file import config_document, strategy_json, strategy_text
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_graph_builder import Builder, build
from flexnet.plan.traffic import traffic_bytes
from flexnet.search.config_text import waiting_text
from flexnet.search.written import as_written, file_arguments, file_network, written_timeline
from flexnet.simulate.arrays import network_arrays
from flexnet.simulate.fifo import FifoLinks
from flexnet.simulate.link_model import Timeline
from flexnet.simulate.protocol import PACKET, Protocol
from flexnet.simulate.short_cuts import all_rounds, any_in_one_round, short_cuts
from flexnet.taskgraph_file.write import write_taskgraph
from flexnet.units import TOLD_RATIO, bytes_text, ms_text, s_to_ms

__all__ = ["Plan", "price"]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A strategy on a network, priced.

    Parameters
    ----------
    problem : Problem
    strategy : Strategy
    network : Network
    timeline : Timeline
        Start and end of every task of `task_graph`, at full resolution.
    directions : int8 (n_allreduce,) or None
        Which way rings over routes run, where semantics draws that.
    protocol : Protocol
        What the plan was priced with: its file divides all-reduces into packets of this one.
    """

    problem: Problem
    strategy: Strategy
    network: Network
    timeline: Timeline
    directions: npt.NDArray[np.int8] | None = None
    protocol: Protocol = PACKET

    @property
    def seconds(self) -> float:
        """Iteration time."""
        return self.timeline.seconds

    @property
    def replayed_seconds(self) -> float:
        """Iteration time that ``flexnet simulate`` tells of the task graph file, whatever link model semantics have."""
        if self.problem.semantics.fair_links:
            return self.seconds
        return written_timeline(self.problem, self.task_graph(), self.network, PACKET).seconds

    @property
    def topology(self) -> Topology:
        """Links and rings."""
        return self.network.topology

    @property
    def cycles(self) -> tuple[tuple[int, ...], ...]:
        """Those cycles of the network that all-reduces of the plan run over."""
        if not self.topology.cycles:
            return ()
        used = demand_of(Builder(self.problem).arrays(self.strategy), self.topology.n_server).groups
        return tuple(cycle for cycle in self.network.cycles if tuple(sorted(cycle)) in used)

    @property
    def configs(self) -> dict[str, Config]:
        """Config of every operator by its name, in model order."""
        names = [op.name for op in self.problem.graph.operators]
        return dict(zip(names, configs_of(self.problem, self.strategy), strict=True))

    @property
    def memory(self) -> float:
        """Bytes the fullest server needs, on all its GPUs together."""
        return memory_needed(self.problem, self.strategy)

    @property
    def estimated_cuts(self) -> tuple[int, float]:
        """Operators cut in a way whose times are estimates, and their share of the compute time of all GPUs."""
        found = [entries[i] for entries, i in zip(self.problem.candidates, self.strategy.choice.tolist(), strict=True)]
        guessed = [entry.estimated or self.problem.table.estimated for entry in found]
        seconds = np.array([(entry.forward + entry.backward) * prod(entry.degrees) for entry in found])
        return sum(guessed), float(seconds[guessed].sum() / max(seconds.sum(), np.finfo(float).tiny))

    @property
    def brought(self) -> float:
        """Share of compute, of all GPUs, in which those of a group bring each other what they lack."""
        problem = self.problem
        precision = problem.table.precision
        busy = exchange = 0.0
        for op, entries, choice in zip(problem.graph.operators, problem.candidates, self.strategy.choice, strict=True):
            entry = entries[choice]
            busy += (entry.forward + entry.backward) * prod(entry.degrees)
            exchange += 2 * problem.parallel.brought_seconds(op, entry.degrees, precision) * prod(entry.degrees)
        return exchange / busy if busy > 0 else 0.0

    @property
    def traffic(self) -> tuple[float, int]:
        """Bytes all-reduces move between servers in an iteration, by rings, and those of all other transfers."""
        return traffic_bytes(Builder(self.problem).arrays(self.strategy))

    def with_config(self, operator: str, config: Config) -> Strategy:
        """The strategy with another config of one operator, for `price`.

        Parameters
        ----------
        operator : str
            Its name, as in `configs`.
        config : Config

        Raises
        ------
        FlexNetError
            If there is no such operator, or it cannot be cut or placed so.
        """
        configs = self.configs
        if operator not in configs:
            raise FlexNetError(f"model {self.problem.graph.name} has no operator {operator}; see plan.configs")
        return make_strategy(self.problem, {**configs, operator: config})

    def task_graph(self) -> TaskGraph:
        """The tasks of one iteration."""
        return _task_graph(self)

    def all_rounds_seconds(self) -> float:
        """About what it takes with all rounds of small all-reduces, of which FlexNetPacket runs one."""
        written = as_written(self.problem, self.task_graph(), self.network, self.protocol)
        return self.seconds * all_rounds(*written, fair=True) if any_in_one_round(written[0]) else self.seconds

    def write_taskgraph(self, path: str | Path) -> tuple[str, ...]:
        """Write the task graph with its network for the packet simulator and ``flexnet simulate``.

        Returns
        -------
        tuple of str
            Sentences on what the packet simulator will not simulate as meant; empty if nothing.

        Raises
        ------
        FlexNetError
            If the file cannot be written, or the packet simulator could not run it.
        """
        graph = self.task_graph()
        network = file_network(self.problem, graph, self.network)
        remarks = write_taskgraph(
            path,
            graph,
            network,
            run_seconds=self.timeline.end - self.timeline.start,
            packets=self.protocol.ring_packets,
            **file_arguments(self.problem),  # type: ignore[arg-type]
        )
        written = as_written(self.problem, graph, self.network, self.protocol)
        small = short_cuts(written[0])
        if not small or (longer := all_rounds(*written, fair=True)) < TOLD_RATIO:
            return tuple(remarks)
        return (*remarks, *(f"{text}: with them this plan takes {longer:.2f} times as long" for text in small))

    def to_strategy_json(self) -> bytes:
        """The strategy as versioned JSON, with where the times behind it come from (`flexnet.plan.strategy_file`)."""
        table = self.problem.table
        configs = list(self.configs.values())
        times = printable(table.source)
        estimated = table.estimated or self.estimated_cuts[0] > 0
        return strategy_json(self.problem.graph, configs, estimated=estimated, times=times)

    def to_strategy_text(self) -> str:
        """The strategy in the original's text format (strategy.cc:146)."""
        return strategy_text(self.problem.graph, list(self.configs.values()))

    def summary(self) -> str:
        """What a person reads: time, network, traffic, memory, and the config of every operator."""
        allreduce, model_parallel = self.traffic
        topology = self.topology
        links, servers = counted(topology.n_link, "link"), counted(topology.n_server, "server")
        width = max(map(len, self.configs))
        return "\n".join(
            [
                f"iteration  {ms_text(self.seconds)}",
                f"network    {topology.name}: {links}, {servers}",
                f"traffic    {bytes_text(allreduce)} all-reduce and {bytes_text(model_parallel)} model-parallel",
                f"memory     {bytes_text(self.memory)} on the fullest server",
                *(
                    f"{name:<{width}}  {config_text(config.degrees)} on {' '.join(map(str, config.devices))}"
                    f"{waiting_text(config)}"
                    for name, config in self.configs.items()
                ),
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """The plan's figures and configs as JSON can hold them; times in ms."""
        allreduce, model_parallel = self.traffic
        cycles = self.cycles
        return {
            "iteration_ms": s_to_ms(self.seconds),
            "bytes_allreduce": int(allreduce),
            "bytes_model_parallel": model_parallel,
            "memory_gb": self.memory / 1e9,
            "estimated_cuts": {
                "operators": self.estimated_cuts[0] / len(self.problem.graph.operators),
                "compute_time": self.estimated_cuts[1],
            },
            "links": [list(link) for link in self.topology.link_counts],
            "rings": {str(size): [list(ring) for ring in rings] for size, rings in sorted(self.topology.rings.items())},
            **({"cycles": [list(cycle) for cycle in cycles]} if cycles else {}),
            "configs": {name: config_document(config) for name, config in self.configs.items()},
        }


def price(
    problem: Problem,
    strategy: Strategy | Configs,
    network: Network,
    *,
    segment_bytes: int = 0,
    directions: npt.NDArray[np.int8] | None = None,
    protocol: Protocol = PACKET,
) -> Plan:
    """Price a strategy on a network, exactly, under the semantics of the problem.

    Parameters
    ----------
    problem : Problem
    strategy : Strategy, sequence of Config, or mapping
        As arrays, or configs in model order or by operator name.
    network : Network
        Of the cluster's servers; that of a found plan, or of `flexnet.network.build.build_network`.
    segment_bytes : int
        Message size of the first-in-first-out link model; 0 for whole transfers.
    directions : int8 (n_allreduce,), optional
        Which way rings over routes run, where semantics draws that: those of a found plan are its `Plan.directions`,
        for strategies with as many all-reduces.  All forwards if None.
    protocol : Protocol
        What the file is replayed with, where links are shared fairly.

    Raises
    ------
    FlexNetError
        If the strategy is not one of the problem, or the network is of another number of servers.
    """
    if not isinstance(strategy, Strategy):
        strategy = make_strategy(problem, strategy)
    if network.topology.n_server != problem.cluster.n_server:
        raise FlexNetError(
            f"the network has {network.topology.n_server} servers; the cluster has {problem.cluster.n_server}"
        )
    if problem.semantics.fair_links:
        graph = build(problem, strategy, trees=trees_on(network))
        timeline = written_timeline(problem, graph, network, protocol)
    else:
        tasks = Builder(problem).arrays(strategy)
        timeline = FifoLinks(problem.semantics, segment_bytes).timeline(
            tasks, network_arrays(network), directions=directions
        )
    return Plan(problem, strategy, network, timeline, directions, protocol)


@lru_cache(maxsize=1)
def _task_graph(plan: Plan) -> TaskGraph:
    """Asked for by every output; of thousands of servers it takes ten seconds, and gigabytes."""
    return build(plan.problem, plan.strategy, trees=trees_on(plan.network))
