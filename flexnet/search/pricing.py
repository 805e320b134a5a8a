"""Prices strategies on networks under one problem's semantics."""

from dataclasses import dataclass, field

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.problem import Problem
from flexnet.search.elite import Directions
from flexnet.simulate import FairSimulator, FifoSimulator, Timeline, network_arrays
from flexnet.strategy import Strategy
from flexnet.taskgraph import BACKWARD, Builder, TaskArrays
from flexnet.topology import Demand, Network
from flexnet.traffic import demand_of

__all__ = ["Price", "Pricer"]

# Resolution of fair sharing, as shares of a typical iteration.  While searching, prices are up to 2 % off exact ones
# and cost 5 (16 servers) to 100 times (128 servers) less; what is reported is exact, or within 0.2 % for large graphs.
ROUGH = 1e-2
SEARCH_WINDOW = 1 / 400
SEARCH_TOLERANCE = 0.02
EXACT_TASKS = 8192
REPORT_WINDOW = 5e-4
REPORT_TOLERANCE = 5e-3


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
    """

    problem: Problem
    segment_bytes: int = 0
    memory_limit: float | None = None
    every_exact: bool = False
    resolved: bool = field(default=False, init=False)
    _builder: Builder = field(init=False)
    _fifo: FifoSimulator = field(init=False)
    _fair: FairSimulator = field(init=False)
    _exact: FairSimulator = field(init=False)

    def __post_init__(self) -> None:
        self._builder = Builder(self.problem)
        self._fifo = FifoSimulator(self.problem.semantics, self.segment_bytes)
        self._fair = FairSimulator()
        self._exact = FairSimulator()

    @property
    def second_look(self) -> bool:
        """Whether prices of proposals are approximate, so that the best ones are to be priced again."""
        return self.problem.semantics.fair_links and not self.every_exact

    def set_resolution(self, strategy: Strategy, network: Network) -> None:
        """Choose how finely fair sharing is solved in `price` and `exact`, from the time of a typical plan.

        Parameters
        ----------
        strategy : Strategy
        network : Network
            A starting plan; plans that are searched should take about as long.
        """
        self.resolved = True
        if not self.second_look:
            return
        tasks = self._builder.arrays(strategy)
        arrays = network_arrays(network)
        compute = np.bincount(tasks.place, weights=tasks.seconds * (tasks.kind <= BACKWARD))
        horizon = FairSimulator(ROUGH * float(compute.max()), SEARCH_TOLERANCE).seconds(tasks, arrays)
        self._fair = FairSimulator(SEARCH_WINDOW * horizon, SEARCH_TOLERANCE)
        if len(tasks.kind) > EXACT_TASKS:
            self._exact = FairSimulator(REPORT_WINDOW * horizon, REPORT_TOLERANCE)

    def price(
        self,
        rng: np.random.Generator,
        strategy: Strategy,
        network: Network,
        limit: float = np.inf,
    ) -> Price:
        """Time of one iteration, given up as soon as it is known to exceed ``limit`` seconds."""
        if self.memory_limit is not None and self.memory_needed(strategy) > self.memory_limit:
            return Price(np.inf, False, None)
        tasks = self._builder.arrays(strategy)
        arrays = network_arrays(network)
        if self.problem.semantics.fair_links:
            seconds = self._fair.seconds(tasks, arrays, limit)
            return Price(seconds, seconds <= limit, None)
        directions = self._directions(rng, tasks, network)
        seconds = self._fifo.seconds(tasks, arrays, directions, limit)
        return Price(seconds, seconds <= limit, directions)

    def exact(self, strategy: Strategy, network: Network, directions: Directions | None) -> Timeline:
        """Every task's times at full resolution, for what is reported and exported."""
        tasks = self._builder.arrays(strategy)
        if self.problem.semantics.fair_links:
            return self._exact.timeline(tasks, network_arrays(network))
        return self._fifo.timeline(tasks, network_arrays(network), directions)

    def replayed(self, strategy: Strategy, network: Network) -> float:
        """Iteration time at packet level, whatever link model the semantics have, in seconds."""
        return self._exact.seconds(self._builder.arrays(strategy), network_arrays(network))

    def tasks(self, strategy: Strategy) -> TaskArrays:
        """Task arrays of a strategy, valid until the next call."""
        return self._builder.arrays(strategy)

    def demand(self, strategy: Strategy) -> Demand:
        """What a strategy asks of the network."""
        return demand_of(self._builder.arrays(strategy), self.problem.cluster.n_server)

    def memory_needed(self, strategy: Strategy) -> float:
        """Bytes the fullest server needs: measured memory per GPU times the GPUs that share the part.

        A part of an embedding lies on one GPU, so a server needs GPUs as large as its largest table.
        """
        arrays = self.problem.arrays
        candidates = arrays.candidate_ptr[:-1] + strategy.choice
        per_part = arrays.memory[candidates] * self.problem.gpus_of_part
        used = np.zeros(self.problem.cluster.n_server)
        placed = strategy.devices >= 0
        np.add.at(used, strategy.devices[placed], np.broadcast_to(per_part[:, None], placed.shape)[placed])
        largest_table = (per_part * arrays.is_embedding).max()  # it must fit one GPU of its server
        return max(float(used.max()), float(largest_table) * self.problem.cluster.gpus)

    def require_memory(self, strategy: Strategy) -> None:
        """Refuse a starting strategy that does not fit.

        Raises
        ------
        FlexNetError
            If some server needs more memory than it has.
        """
        if self.memory_limit is not None and (needed := self.memory_needed(strategy)) > self.memory_limit:
            raise FlexNetError(
                f"the starting strategy needs {needed / 1e9:.4g} GB on one server and a server has "
                f"{self.memory_limit / 1e9:.4g} GB; raise --gpu-memory or use more servers"
            )

    def _directions(self, rng: np.random.Generator, tasks: TaskArrays, network: Network) -> Directions | None:
        if network.topology.rings or not self.problem.semantics.random_ring_direction:
            return None
        draws = rng.integers(0, 2, len(tasks.group_ptr) - 1, dtype=np.int8)
        return draws * np.int8(2) - np.int8(1)
