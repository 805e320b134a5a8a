"""One network, measured: searched, its plan replayed, in figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from flexnet.interrupts import GivenUp
from flexnet.network.kernels.hops import hops_to
from flexnet.network.network import Network
from flexnet.network.topology import Topology, adjacency
from flexnet.plan.problem import Problem
from flexnet.plan.strategy import Configs
from flexnet.search.driver import Progress
from flexnet.search.found import Found
from flexnet.search.jobs import run
from flexnet.search.prepare import prepare
from flexnet.search.settings import Settings
from flexnet.search.state import Info, State
from flexnet.search.written import as_written
from flexnet.simulate.protocol import PACKET
from flexnet.simulate.replay import replay
from flexnet.simulate.short_cuts import all_rounds, any_in_one_round
from flexnet.units import s_to_ms

__all__ = ["Measured", "measure"]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What a search found on one network, and how it runs there.

    Parameters
    ----------
    found : Found
    seconds : float
        Iteration time of the plan there.
    compute : float
        Computing time of the server that computes longest, seconds.
    bandwidth_tax : float
        See `flexnet.simulate.replay_report.Replay`.
    start_seconds : float
        Iteration time of the start there.
    hops : int64 (n_pair,)
        Links between two different servers, of all ordered pairs.
    all_rounds : float
        Iteration time with every round of every all-reduce over that with FlexNetPacket's short cut; 1 without those.
    """

    found: Found
    seconds: float
    compute: float
    bandwidth_tax: float
    start_seconds: float
    hops: npt.NDArray[np.int64]
    all_rounds: float = 1.0

    @property
    def exposed(self) -> float:
        """Time the server that computes longest does not, seconds."""
        return max(self.seconds - self.compute, 0.0)

    @property
    def bound(self) -> float | None:
        """Seconds that no plan can beat on such a network; None if nothing was proven."""
        return None if self.found.bound is None else self.found.bound.seconds

    @property
    def mean_hops(self) -> float:
        """Links between two servers, on the mean over all pairs; 0 for one server."""
        return float(self.hops.mean()) if len(self.hops) else 0.0

    def figures(self) -> dict[str, Any]:
        """All figures as JSON can hold them; times in ms."""
        found, bound = self.found, self.bound
        allreduce, model_parallel = found.plan.traffic
        longest = int(self.hops.max(initial=0))
        return {
            "iteration_ms": s_to_ms(self.seconds),
            "initial_ms": s_to_ms(self.start_seconds),
            "lower_bound_ms": None if bound is None else s_to_ms(bound),
            "gap": None if bound is None else self.seconds / bound,
            "compute_ms": s_to_ms(self.compute),
            "exposed_ms": s_to_ms(self.exposed),
            "bytes_allreduce": float(allreduce),
            "bytes_model_parallel": float(model_parallel),
            "bandwidth_tax": self.bandwidth_tax,
            "all_rounds": self.all_rounds,
            "mean_hops": self.mean_hops,
            "pairs_by_hops": np.bincount(self.hops, minlength=longest + 1).tolist(),
            "memory_gb": found.plan.memory / 1e9,
            "operators_changed": len(found.changed),
            "iterations": found.iterations,
            "search_s": found.search_s,
            "estimated": found.plan.problem.table.estimated,
        }


def measure(
    problem: Problem,
    settings: Settings,
    start: Configs | None = None,
    known: Sequence[Configs] = (),
    *,
    observe: Callable[[Progress, State, Info], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Measured:
    """Search a network, and replay what was found.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    start, known : Configs, optional, and sequence of Configs
        As in `flexnet.search.prepare.prepare`.
    observe : callable, optional
        Called after every proposal.
    stop : callable
        Asked after every proposal whether to end the search there.

    Raises
    ------
    FlexNetError
        As `flexnet.search.find.find_plan`.
    GivenUp
        If the search was stopped.
    """
    ready = prepare(problem, settings, start, known)
    found = ready.found(run(ready, ready.state, observe=observe, stop=stop))
    if found.interrupted:
        raise GivenUp
    network, graph = found.plan.network, found.plan.task_graph()
    once = replay(graph, network)
    written = as_written(problem, graph, network, PACKET)
    longer = all_rounds(*written) if any_in_one_round(written[0]) else 1.0
    hops = _routed_hops(network)
    return Measured(found, found.seconds, once.compute, once.bandwidth_tax, found.start_seconds, hops, longer)


def _routed_hops(network: Network) -> npt.NDArray[np.int64]:
    n = network.topology.n_server
    if network.implies_routes:
        return _shortest_hops(network.topology)
    return _of_pairs(np.diff(network.route_ptr).astype(np.int64).reshape(n, n))


def _shortest_hops(topology: Topology) -> npt.NDArray[np.int64]:
    n = topology.n_server
    ptr, _, link_to = adjacency(topology.links)
    return _of_pairs(hops_to(ptr, link_to, np.arange(n))[:, :n].astype(np.int64))


def _of_pairs(hops: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Those between different servers."""
    between: npt.NDArray[np.int64] = hops[~np.eye(len(hops), dtype=bool)]
    return between
