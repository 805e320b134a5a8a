"""Prices strategies on networks under one problem's semantics."""

from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.network.demand import Demand, demand_of
from flexnet.network.network import Network
from flexnet.network.relays import trees_on
from flexnet.network.wiring.balance import crowding
from flexnet.plan.arrays import TaskArrays
from flexnet.plan.memory import largest_part, memory_needed
from flexnet.plan.problem import Problem
from flexnet.plan.strategy import Strategy, same_strategy
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_graph_builder import Builder, build
from flexnet.plan.task_kinds import NOMINAL_COMM
from flexnet.search.candidates import Candidate, Directions
from flexnet.search.floor import floor_seconds
from flexnet.search.remembered import Priced, Remembered
from flexnet.search.resolution import Rough, resolution_for, roughly
from flexnet.search.written import written_timeline
from flexnet.simulate.arrays import NetworkArrays, network_arrays
from flexnet.simulate.bundled import BundledLinks
from flexnet.simulate.link_model import LinkModel, Timeline
from flexnet.simulate.priced_links import packet_hops, priced_links
from flexnet.simulate.protocol import PACKET, Protocol
from flexnet.simulate.routed import routed

__all__ = ["Price", "Pricer"]

FEW_TRANSFERS = 1000  # up to which full resolution takes no longer
EXACT_TASKS = 8192
TOLD = 64  # plans told exactly last, of which it is known how their transfers are sent
NEAR = 2.0  # plans that take so many times the fastest may be searched from
DEMANDS = 4  # of the strategies asked about last, which networks are changed for again and again


@dataclass(frozen=True, slots=True, eq=False)
class Price:
    """Iteration time of a strategy on a network.

    Parameters
    ----------
    seconds : float
        The time, or some time above the limit it was asked with.
    exact : bool
        Whether ``seconds`` is the time itself.
    directions : int8 (n_allreduce,) or None
        Ring directions drawn for it, where semantics draws them.
    """

    seconds: float
    exact: bool
    directions: Directions | None


@dataclass(slots=True)
class Pricer:
    """Builds and simulates; holds scratch memory only, so results depend on arguments alone.

    Parameters
    ----------
    problem : Problem
    segment_bytes : int
        Size of the messages the first-in-first-out model cuts transfers into; 0 for whole.
    memory_limit : float or None
        Bytes of GPU memory a server has; strategies that need more on some server cost infinity.
    every_exact : bool
        Price every proposal at full resolution (fair links only).
    protocol : Protocol
        What the transport adds (fair links only).
    remembers : bool
        Keep prices, for a search that comes back to the same plans.
    """

    problem: Problem
    segment_bytes: int = 0
    memory_limit: float | None = None
    every_exact: bool = False
    protocol: Protocol = PACKET
    remembers: bool = False
    resolved: bool = field(default=False, init=False)
    _full: LinkModel = field(init=False)
    _priced: Protocol = field(init=False)
    _builder: Builder = field(init=False)
    _once: Builder = field(init=False)  # of a micro-batch
    _links: LinkModel = field(init=False)
    _known: Remembered = field(init=False, default_factory=Remembered)
    _crowded: tuple[Candidate, float] | None = field(init=False, default=None)
    _ready: tuple[int, Network | None] = field(init=False, default=(0, None))  # has routes for the build of that number
    _sent: deque[tuple[Strategy, Network, float, Problem]] = field(
        init=False, default_factory=lambda: deque(maxlen=TOLD)
    )
    _demands: deque[tuple[Strategy, Demand]] = field(init=False, default_factory=lambda: deque(maxlen=DEMANDS))

    def __post_init__(self) -> None:
        self._set_builders()
        # where rings of groups are meant to be, not where FlexNetPacket puts them
        self._priced = self.protocol._replace(rings_by_index=False)
        self._full = self._links = priced_links(self.problem.semantics, self.segment_bytes, self._priced)

    def _set_builders(self) -> None:
        at_once = self.problem.with_transfers_at_once()
        self._builder = Builder(at_once)
        self._once = self._builder if at_once.micro_batches == 1 else Builder(at_once.of_one_micro_batch())

    @property
    def second_look(self) -> bool:
        """Whether prices of proposals are approximate, so that the best ones are to be priced again."""
        return self.problem.semantics.fair_links

    def set_buckets(self, bucket_bytes: float) -> None:
        """Put gradients together in buckets of so many bytes, from now on (`Problem.with_buckets`)."""
        self.problem = self.problem.with_buckets(bucket_bytes)
        self.release()

    def release(self) -> None:
        """Let go of memory, of thousands of servers gigabytes; prices are the same, and take as much again."""
        self._set_builders()
        full = self._full.anew()
        self._links = full if self._links is self._full else self._links.anew()
        self._full = full
        self._known.forget()
        self._demands.clear()
        self._sent.clear()
        self._ready = 0, None
        self._crowded = None

    def set_resolution(self, plans: Sequence[tuple[Strategy, Network]]) -> None:
        """Choose how finely fair sharing is solved in `price` for many transfers, from the times of typical plans.

        What is searched should take about as long as the fastest of these, and send as much as those that come near.

        Parameters
        ----------
        plans : sequence of (Strategy, Network)
            One at least.
        """
        self.resolved = True
        self._known.forget()
        if self.every_exact or not self.problem.semantics.fair_links:
            return
        told = [(*self._roughly(*plan), plan) for plan in plans]
        least = min(rough.seconds for rough, _, _ in told)
        near = [plan for plan in told if plan[0].seconds <= NEAR * least]
        rough, arrays, (strategy, network) = max(near, key=lambda plan: plan[0].hops)
        tasks, in_turn = self._tasks_on(strategy, network), partial(self._in_turn, strategy, network)
        self._links = resolution_for(rough, tasks, in_turn, arrays, self._priced, least)

    def _roughly(self, strategy: Strategy, network: Network) -> tuple[Rough, NetworkArrays]:
        tasks = self._tasks_on(strategy, network)
        arrays = self._arrays(tasks, network)
        return roughly(tasks, arrays, self._priced), arrays

    def price(
        self,
        rng: np.random.Generator,
        strategy: Strategy,
        network: Network,
        limit: float = np.inf,
    ) -> Price:
        """Time of one iteration, given up as soon as it is known to exceed ``limit`` seconds."""
        if not self.fits(strategy):
            return Price(np.inf, False, None)
        if self.remembers and not self._draws_directions(network):
            return self._remembered(strategy, network, limit)
        tasks = self._tasks_on(strategy, network)
        directions = self._directions(rng, tasks, network)
        links = self._links_for(tasks)
        seconds = links.seconds(tasks, self._arrays(tasks, network), limit=limit, directions=directions)
        return Price(seconds, seconds <= limit, directions)

    def _remembered(self, strategy: Strategy, network: Network, limit: float) -> Price:
        """The price, simulated only if what is known does not tell whether it is above the limit."""
        key = self._known.key_of(strategy)
        priced = self._known.find(network, key, limit)
        if priced is None:
            tasks = self._tasks_on(strategy, network)
            seconds = self._links_for(tasks).seconds(tasks, self._arrays(tasks, network), limit=limit)
            priced = Priced(seconds, seconds <= limit)
            self._known.keep(network, key, priced)
        return Price(priced.seconds, priced.seconds <= limit, None)

    def alike(self, a: Strategy, b: Strategy) -> bool:
        """Whether two strategies are the same, and so take as long: not where directions are drawn for every price."""
        return not self.problem.semantics.random_ring_direction and same_strategy(a, b)

    def floor(self, strategy: Strategy, degree: int) -> float:
        """Seconds no network with ``degree`` links of a server can beat: `floor_seconds`."""
        small = self.protocol.small_packet_bytes if self.problem.semantics.fair_links else 0.0
        return floor_seconds(self.problem, strategy, self._once.arrays(strategy), degree, small)

    def exact(self, strategy: Strategy, network: Network, directions: Directions | None) -> Timeline:
        """Every task's times at full resolution, for what is reported: of the file the plan would be written to."""
        return self.fastest(strategy, network, directions)[1]

    def fastest(
        self, strategy: Strategy, network: Network, directions: Directions | None, n_thread: int = 1
    ) -> tuple[Problem, Timeline]:
        """The problem in which transfers take turns, or do not, as is faster, and what `exact` tells of that."""
        if not self.problem.semantics.fair_links:
            return self.problem, self.rough(strategy, network, directions)
        ways = self._ways(strategy, network)
        with ThreadPoolExecutor(n_thread) as beside:
            times = beside.map(lambda way: written_timeline(way[0], way[1], network, self.protocol), ways)
            found, timeline = min(zip(ways, times, strict=True), key=lambda told: told[1].seconds)
        self._sent.append((strategy, network, timeline.seconds, found[0]))
        return found[0], timeline

    def sent_as(self, strategy: Strategy, network: Network, timeline: Timeline) -> Problem:
        """The problem in which transfers take turns, or do not, as in a timeline that `exact` has told."""
        for one, on, seconds, problem in self._sent:
            if one is strategy and on is network and seconds == timeline.seconds:
                return problem
        (first, graph), *others = self._ways(strategy, network)
        if others and written_timeline(first, graph, network, self.protocol).seconds > timeline.seconds:
            return others[0][0]
        return first

    def _tasks_on(self, strategy: Strategy, network: Network) -> TaskArrays:
        """Task arrays of a strategy on a network, valid until the next call."""
        return self._builder.arrays(strategy, trees_on(network))

    def _in_turn(self, strategy: Strategy, network: Network) -> TaskArrays:
        """The same with transfers that take turns, where any do."""
        return Builder(self.problem).arrays(strategy, trees_on(network))

    def _ways(self, strategy: Strategy, network: Network) -> list[tuple[Problem, TaskGraph]]:
        """Problems with a strategy's tasks: with transfers at once, and with turns; one where none takes any."""
        at_once, trees = self.problem.with_transfers_at_once(), trees_on(network)
        ways = [(one, build(one, strategy, trees=trees)) for one in (at_once, self.problem)]
        return ways[1:] if len(ways[0][1].succ) == len(ways[1][1].succ) else ways

    def rough(self, strategy: Strategy, network: Network, directions: Directions | None) -> Timeline:
        """Every task's times as proposals are priced."""
        tasks = self._tasks_on(strategy, network)
        return self._links_for(tasks).timeline(tasks, self._arrays(tasks, network), directions=directions)

    def exact_work(self, strategy: Strategy, network: Network) -> float:
        """Hops of packets, which `exact` follows or, if they are many, shares links among; 0 where it needs no time."""
        if not self.problem.semantics.fair_links:
            return 0.0
        tasks = self._tasks_on(strategy, network)
        if not self.protocol.by_packet and len(tasks.kind) <= EXACT_TASKS:
            return 0.0
        n_way = 1 if len(self._in_turn(strategy, network).succ) == len(tasks.succ) else 2  # as of `_ways`
        return n_way * packet_hops(tasks, self._arrays(tasks, network), self.protocol)

    def routed(self, strategy: Strategy, network: Network) -> Network:
        """The network with routes for all that a strategy sends; the same but on large ones that lack some."""
        return self._routed(self._tasks_on(strategy, network), network) if network.implies_routes else network

    def tasks(self, strategy: Strategy) -> TaskArrays:
        """Task arrays of a strategy, valid until the next call."""
        return self._builder.arrays(strategy)

    def demand(self, strategy: Strategy) -> Demand:
        """What a strategy asks of the network."""
        for known, demand in self._demands:
            if known is strategy:
                return demand
        demand = demand_of(self._builder.arrays(strategy), self.problem.cluster.n_server)
        self._demands.append((strategy, demand))
        return demand

    def crowding(self, plan: Candidate) -> float:
        """`flexnet.network.wiring.balance.crowding` of a plan, which is asked for again and again."""
        if self._crowded is None or self._crowded[0] is not plan:
            self._crowded = plan, crowding(plan.network, self.demand(plan.strategy))
        return self._crowded[1]

    def memory_needed(self, strategy: Strategy) -> float:
        """Bytes the fullest server needs; see `flexnet.plan.memory`."""
        return memory_needed(self.problem, strategy)

    def fits(self, strategy: Strategy) -> bool:
        """Whether a strategy needs no more memory than there is, if that is limited."""
        return self.memory_limit is None or self.memory_needed(strategy) <= self.memory_limit

    def require_memory(self, strategy: Strategy) -> None:
        """Refuse a starting strategy that does not fit.

        Raises
        ------
        FlexNetError
            If some server needs more memory than it has.
        """
        if self.memory_limit is not None and (needed := self.memory_needed(strategy)) > self.memory_limit:
            op, largest = largest_part(self.problem, strategy)
            over = f", {(largest - self.memory_limit) / 1e9:.4g} GB too many" if largest > self.memory_limit else ""
            raise FlexNetError(
                f"the starting strategy needs {needed / 1e9:.4g} GB on one server and a server has "
                f"{self.memory_limit / 1e9:.4g} GB; its largest operator, {op.name} ({op.key}), needs "
                f"{largest / 1e9:.4g} GB{over}; raise --gpu-memory or use more servers"
            )

    def _links_for(self, tasks: TaskArrays) -> LinkModel:
        """Full resolution for few transfers, unless the plans of this search are so large that all are bundled."""
        if self._links is self._full or isinstance(self._links, BundledLinks):
            return self._links
        return self._full if np.count_nonzero(tasks.kind == NOMINAL_COMM) <= FEW_TRANSFERS else self._links

    def _routed(self, tasks: TaskArrays, network: Network) -> Network:
        if not self.problem.semantics.fair_links:
            return network.routing(np.arange(network.topology.n_server**2))  # rings may run backwards
        built, ready = self._ready
        if ready is network and built == self._builder.n_built:
            return network
        found = routed(tasks, network, self._priced)
        self._ready = self._builder.n_built, found
        return found

    def _arrays(self, tasks: TaskArrays, network: Network) -> NetworkArrays:
        return network_arrays(self._routed(tasks, network))

    def _directions(self, rng: np.random.Generator, tasks: TaskArrays, network: Network) -> Directions | None:
        if not self._draws_directions(network):
            return None
        draws = rng.integers(0, 2, len(tasks.group_ptr) - 1, dtype=np.int8)
        return draws * np.int8(2) - np.int8(1)

    def _draws_directions(self, network: Network) -> bool:
        """Whether rings run forwards or backwards at random, anew for every price."""
        semantics = self.problem.semantics
        return semantics.random_ring_direction and not semantics.fair_links and not network.topology.rings
