"""What a search found: the best plan beside the start, and how it was come by."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from flexnet.errors import counted
from flexnet.exact.machines import PlanBound
from flexnet.exact.plan_bounds import FIXED
from flexnet.model.graph import Operator
from flexnet.network.network import gbps_text
from flexnet.network.topology import Topology
from flexnet.plan.strategy import Config, same_strategy
from flexnet.search.candidates import Candidate
from flexnet.search.config_text import config_text, numbers_text
from flexnet.search.floor import pipeline_seconds
from flexnet.search.opening import arithmetic_text, batches_text, groups_of_text
from flexnet.search.plan import Plan
from flexnet.search.plan_text import buckets_text, groups_text, memory_text, stages_text, times_text, topology_text
from flexnet.search.settings import Settings
from flexnet.search.starts.start import Bound
from flexnet.simulate.phases import phases_of
from flexnet.simulate.protocol import PROTOCOLS
from flexnet.units import bytes_text, duration_text, ms_text, rate_text, s_to_ms

__all__ = ["Found"]

SHOWN_OPERATORS = 8
ROUNDING = 1e-8  # of an iteration: no communication
LEAST_TOLD = 1e-3  # of an iteration: what others compute first
LEAST_SHARE = 0.1  # of what a bound rests on, to be told
TOLD_ERROR = 0.02  # of a price, against the time of a replay


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a search found.

    Parameters
    ----------
    settings : Settings
    plan : Plan
        The best one, or the start if none was faster.
    start : Plan
    start_name : str
        What kind of start it is: ``data-parallel``, ``dynamic-programming``, ``imported``.
    searched_seconds, start_searched_seconds : float
        Iteration times of both as proposals were priced.
    changed : tuple of (Operator, Config)
        Operators that are not as in data parallelism with embeddings dealt round the servers.
    iterations : int
        Proposals made.
    improved_at : int or None
        Proposals made when the best plan was found, by their coarser prices; None if none was better.
    search_s : float
        Seconds spent proposing.
    interrupted : bool
    bound : Bound or None
        What was proven of all strategies.
    fixed : tuple of PlanBound
        Where that was proven, what the plan takes at least with its cuts and places on any network, and on its own.
    draws : tuple of float
        Of a random network: seconds that the strategy takes on other draws of it, ascending.
    path_draws : tuple of float
        Where several paths over switches are as short: seconds if every flow chooses one by itself, ascending.
    as_searched : bool
        Whether times are those of proposals: the search was interrupted and a replay would have taken too long, or the
        plan is too large for the file that would be replayed.
    """

    settings: Settings
    plan: Plan
    start: Plan
    start_name: str
    searched_seconds: float
    start_searched_seconds: float
    changed: tuple[tuple[Operator, Config], ...]
    iterations: int
    improved_at: int | None
    search_s: float
    interrupted: bool
    bound: Bound | None
    fixed: tuple[PlanBound, ...] = ()
    draws: tuple[float, ...] = ()
    path_draws: tuple[float, ...] = ()
    as_searched: bool = False

    @property
    def seconds(self) -> float:
        """Iteration time of the plan."""
        return self.plan.seconds

    @property
    def start_seconds(self) -> float:
        """Iteration time of the start."""
        return self.start.seconds

    @property
    def candidate(self) -> Candidate:
        """The plan as the search has it, with the time that it took it for."""
        return Candidate(self.plan.strategy, self.plan.network, self.searched_seconds, self.plan.directions)

    @property
    def compute(self) -> float:
        """Seconds that the server which computes longest does so."""
        return sum(phase.compute for phase in phases_of(self.plan.task_graph(), self.plan.timeline))

    @property
    def exposed(self) -> float:
        """Seconds of communication that do not hide behind that."""
        exposed = self.seconds - self.compute
        return exposed if exposed > ROUNDING * self.seconds else 0.0

    @property
    def others_compute(self) -> float:
        """Seconds of `exposed` in which the busiest server waits for others to compute, whatever the network.

        As stages of a pipeline do, or towers of a model beside each other (`flexnet.search.floor.pipeline_seconds`).
        """
        least = pipeline_seconds(self.plan.problem, self.plan.strategy)
        others = min(least - self.compute, self.exposed)
        return others if others > ROUNDING * self.seconds else 0.0

    @property
    def interfaces(self) -> int:
        """Interfaces that a server uses at most on networks of this kind."""
        problem = self.plan.problem
        return self.settings.family(problem).interfaces(problem.cluster.n_server)

    @property
    def paths_text(self) -> str | None:
        """How much it differs if flows take other paths over the switches; None if they have no choice."""
        if not self.path_draws:
            return None
        n = len(self.path_draws)
        return f"{_range(self.path_draws)} in {n} draws where every flow takes any of the shortest paths"

    @property
    def topology(self) -> Topology:
        """Links and rings of the plan."""
        return self.plan.topology

    @property
    def only_routes(self) -> bool:
        """Whether strategy and links are those the search started from, with other rings or routes."""
        one, other = self.start.network, self.plan.network
        return (
            same_strategy(self.start.strategy, self.plan.strategy)
            and np.array_equal(one.topology.links, other.topology.links)
            and (
                one.topology.rings != other.topology.rings
                or one.topology.cycles != other.topology.cycles
                or not np.array_equal(one.route, other.route)
            )
        )

    def summary(self, gpu: str | None = None) -> str:
        """What a person reads; the last line says how good the plan is.

        Parameters
        ----------
        gpu : str, optional
            The GPU that times are estimated for: a plan that does not fit its memory is remarked on.
        """
        return "\n".join(_summary_lines(self, gpu))

    def to_dict(self) -> dict[str, Any]:
        """The figures as ``run.json`` has them; times in ms."""
        plan = self.plan.to_dict()
        return {
            "start": self.start_name,
            "initial_ms": float(s_to_ms(self.start_seconds)),
            "best_ms": float(s_to_ms(self.seconds)),
            "initial_search_ms": float(s_to_ms(self.start_searched_seconds)),
            "best_search_ms": float(s_to_ms(self.searched_seconds)),
            **self._replayed_dict(),
            "compute_ms": float(s_to_ms(self.compute)),
            "exposed_communication_ms": float(s_to_ms(self.exposed)),
            "others_compute_ms": float(s_to_ms(self.others_compute)),
            "interfaces": self.interfaces,
            "arithmetic": arithmetic_text(self.plan.problem.table),
            **({"other_draws_ms": [float(s_to_ms(seconds)) for seconds in self.draws]} if self.draws else {}),
            **({"path_draws_ms": [float(s_to_ms(one)) for one in self.path_draws]} if self.path_draws else {}),
            "iterations": self.iterations,
            "improved_at": self.improved_at,
            "search_s": self.search_s,
            "proposals_per_s": self.iterations / self.search_s if self.search_s > 0 else 0.0,
            **{name: plan[name] for name in ("bytes_allreduce", "bytes_model_parallel", "memory_gb", "estimated_cuts")},
            "transfers_in_turn": self.plan.problem.semantics.transfers_in_turn,
            **self._groups_dict(),
            "bucket_mb": self.plan.problem.bucket_bytes / 1e6,
            "operators_changed": [op.name for op, _ in self.changed],
            "links": plan["links"],
            **self._bound_dict(),
            **{name: plan[name] for name in ("rings", "cycles") if name in plan},
        }

    def _replayed_dict(self) -> dict[str, Any]:
        """What replays of the files tell, unless nobody has waited for them."""
        if self.as_searched:
            return {"as_searched": True}
        if self.interrupted and not self.plan.problem.semantics.fair_links:
            return {}
        return {
            "initial_replay_ms": float(s_to_ms(self.start.replayed_seconds)),
            "best_replay_ms": float(s_to_ms(self.plan.replayed_seconds)),
        }

    def _groups_dict(self) -> dict[str, Any]:
        """What groups of GPUs share, if not all samples alone, and what of compute it takes; nothing without groups."""
        problem = self.plan.problem
        if problem.parallel.gpus == 1:
            return {}
        others = [op for op in problem.graph.operators if not problem.parallel.shares_samples(op)]
        configs = {op.name: list(problem.parallel.degrees[op.index]) for op in others}
        return {"in_groups": configs, "exchange_in_groups": self.plan.brought}

    def _bound_dict(self) -> dict[str, Any]:
        if self.bound is None:
            return {}
        points = [[s_to_ms(point.time), point.memory / 1e9] for point in self.bound.frontier()]
        traded = {"additive_ms_and_memory_gb": points} if points else {}
        return {
            "lower_bound_ms": s_to_ms(self.bound.seconds),
            "gap": self.seconds / self.bound.seconds,
            "bound_terms": dict(self.bound.binding),
            **{f"{name}_bound_ms": s_to_ms(bound.seconds) for name, bound in zip(FIXED, self.fixed, strict=False)},
            **{f"{name}_bound_of": bound.words for name, bound in zip(FIXED, self.fixed, strict=False)},
            **traded,
        }


def _summary_lines(found: Found, gpu: str | None) -> list[str]:
    """What `Found.summary` says, line by line."""
    plan = found.plan
    n_op = len(plan.problem.graph.operators)
    routes = "; links as at the start, other routes" if found.only_routes else ""
    speed = f", {rate_text(found.iterations / found.search_s)} proposals/s" if found.search_s > 0 else ""
    lines = [
        f"search     {counted(found.iterations, 'proposal')} in {duration_text(found.search_s)}{speed}"
        + (f"; the best after {found.improved_at}" if found.improved_at else "")
        + (", interrupted" if found.interrupted else "")
        + (", too large for a task graph file" if found.as_searched and not found.interrupted else "")
        + (", so that times are those it was searched with" if found.as_searched else ""),
        f"topology   {topology_text(plan, found.settings)}{routes}",
        f"strategy   {len(found.changed)} of {n_op} operators differ from data parallelism",
        *(f"           {op.name}: {config_text(op, config)}" for op, config in found.changed[:SHOWN_OPERATORS]),
    ]
    if len(found.changed) > SHOWN_OPERATORS:
        lines.append(f"           and {len(found.changed) - SHOWN_OPERATORS} more, all in strategy.json with -o DIR")
    idle = np.setdiff1d(np.arange(plan.problem.cluster.n_server), plan.strategy.devices).tolist()
    if idle:
        lines.append(f"           {counted(len(idle), 'server')} without any part: {numbers_text(idle)}")
    allreduce, model_parallel = map(bytes_text, plan.traffic)
    stages = stages_text(plan) if plan.problem.micro_batches > 1 else ""
    if found.draws:
        lines.append(f"draws      {_draws_text(found.draws)}")
    if found.paths_text is not None:
        lines.append(f"paths      {found.paths_text}")
    return [
        *lines,
        *([f"pipeline   {stages}"] if stages else []),
        f"server     {counted(found.interfaces, 'interface')} of {gbps_text(plan.network)} Gbps on this network",
        f"time       {ms_text(found.compute)} compute of the busiest server, {ms_text(found.exposed)} exposed "
        f"communication{_others_text(found)}",
        f"traffic    {allreduce} all-reduce and {model_parallel} model-parallel in an iteration",
        f"memory     {memory_text(plan, found.settings, gpu)}",
        *([f"groups     {groups_text(plan)}"] if plan.problem.parallel.gpus > 1 else []),
        *([f"buckets    {buckets_text(plan)}"] if plan.problem.bucket_bytes else []),
        *_bound(found),
        *_price(found),
        *_rounds(found),
        f"times      {times_text(plan)}",
        _verdict(found),
    ]


def _draws_text(draws: tuple[float, ...]) -> str:
    """How much another network of the same kind would differ."""
    return f"the same strategy takes {_range(draws)} on {len(draws)} other draws of this random network"


def _range(draws: tuple[float, ...]) -> str:
    return f"{ms_text(draws[0])} to {ms_text(draws[-1])}"


def _verdict(found: Found) -> str:
    best, first = found.seconds, found.start_seconds
    estimated = " (estimated)" if found.plan.problem.table.estimated else ""
    start = f"the {found.start_name} start ({ms_text(first)})"
    if not best < first:
        return f"best {ms_text(best)}{estimated}, not faster than {start}"
    return f"best {ms_text(best)}{estimated}, {first / best:.2f}x faster than {start}"


def _others_text(found: Found) -> str:
    others = found.others_compute
    told = others > LEAST_TOLD * found.seconds
    return f", {ms_text(others)} of it while others have to compute" if told else ""


def _bound(found: Found) -> list[str]:
    if found.bound is None:
        return []
    bound = found.bound.seconds
    told = [f"{words} {100 * share:.0f} %" for words, share in found.bound.binding if share >= LEAST_SHARE]
    binding = ", ".join(told)
    gap = f"the best is at {found.seconds / bound:.2f}x"
    problem = found.plan.problem
    given = batches_text(problem.micro_batches) + groups_of_text(problem.parallel.gpus)
    lines = [f"bound      no plan{given} takes less than {ms_text(bound)} ({binding}); {gap}"]
    if found.fixed:
        strategy, network = found.fixed
        here = "this one too"
        if ms_text(network.seconds) != ms_text(strategy.seconds):
            here = f"{ms_text(network.seconds)} on this one ({network.words})"
        lines.append(
            f"           with these cuts and places it takes {ms_text(strategy.seconds)} at least on any network "
            f"({strategy.words}), {here}"
        )
    return lines


def _rounds(found: Found) -> list[str]:
    """What it would take without the short cut of FlexNetPacket that times are with, where that is worth a remark."""
    short_cut = PROTOCOLS[found.settings.protocol].small_packet_bytes > 0 and found.plan.problem.semantics.fair_links
    if not short_cut or found.interrupted or found.as_searched:
        return []
    best, first = found.plan.all_rounds_seconds(), found.start.all_rounds_seconds()
    if max(best / found.seconds, first / found.start_seconds) < 1 + TOLD_ERROR:
        return []
    return [
        "rounds     FlexNetPacket cuts small all-reduces short; with all their rounds this takes about "
        f"{ms_text(best)}, the start {ms_text(first)} (--protocol dctcp searches so)"
    ]


def _price(found: Found) -> list[str]:
    """What the search took the plan for, where that is worth a remark."""
    off = found.searched_seconds / found.seconds - 1.0
    if found.as_searched or abs(off) < TOLD_ERROR:
        return []
    less = "less" if off < 0.0 else "more"
    return [f"price      the search took it for {ms_text(found.searched_seconds)}, {100 * abs(off):.0f} % {less}"]
