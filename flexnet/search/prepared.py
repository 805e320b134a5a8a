"""A search that is ready to run, and what comes of it: the best plans at full resolution, and the bound."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from flexnet.exact.bound import MOST_WORK
from flexnet.exact.machines import PlanBound, longest
from flexnet.exact.plan_bounds import bound_with_network, bound_with_strategy
from flexnet.interrupts import GivenUp, undisturbed
from flexnet.kernels import is_kept
from flexnet.network.family import TopologyFamily
from flexnet.plan.problem import Problem
from flexnet.plan.task_graph_builder import Builder, build
from flexnet.search.alternate import CoSearch
from flexnet.search.buckets import are_open, with_best_buckets
from flexnet.search.candidates import Candidate, choose, without_idle_waits
from flexnet.search.driver import Outcome
from flexnet.search.finalists import finalists_of, likely_fastest
from flexnet.search.found import Found
from flexnet.search.networks import other_draw
from flexnet.search.packet_speed import packet_cluster, packet_network
from flexnet.search.plan import Plan
from flexnet.search.portfolio import Portfolio
from flexnet.search.pricing import Pricer
from flexnet.search.settings import Settings
from flexnet.search.starts.data_parallel import not_data_parallel
from flexnet.search.starts.start import Bound, bound_of
from flexnet.search.state import State
from flexnet.simulate.fabric import Fabric, draw_routes
from flexnet.simulate.kernels.packets import simulate_packets
from flexnet.simulate.link_model import Timeline
from flexnet.simulate.priced_links import MOST_HOPS, packet_hops
from flexnet.simulate.replay import replays
from flexnet.taskgraph_file.encode import TooLargeError
from flexnet.taskgraph_file.write import require_room_for

__all__ = ["Prepared", "is_soon_exact"]

OTHER_DRAWS = 4  # of a random network, that the strategy found is priced on
PATH_DRAWS = 4  # of the paths that flows choose over switches
DRAWN_HOPS = 40_000_000  # of packets in all of these, some four seconds
ROUNDED = 1e-3  # what files round makes less of a difference

# Hops of packets after which no more of the best plans are replayed, and these for each proposal or second that a
# search was given, so that it is some tenths longer if it is short and a tenth if it is long; and before a search
# begins, or to tell a plan's time in a checkpoint: about a second.
FINAL_HOPS = 40_000_000
HOPS_A_PROPOSAL = 3_000
HOPS_A_SECOND = 1_000_000
HOPS_OF_PIPELINES = 10  # times as many: prices of stages that work by turns are a tenth off, up or down
GLANCED_HOPS = 5_000_000

# A search that is given so many seconds or proposals has time for a bound that takes so many times the work, half a
# minute, where that helps.
LONG_S = 30.0
MANY_PROPOSALS = 10_000
LONG_WORK = 4.0
# In fewer proposals than this, which take a second, a bound looks at less: Inception's on 8 servers is 2 % lower and
# takes 3 s, not 11.
FEW_PROPOSALS = 1000
SHORT_WORK = 1 / 8

BOUNDED_TASKS = 4_000_000  # of a plan; more would take half a minute to bound


def _not_begun(_wait: bool) -> None:
    """No bound is being proven yet."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A search ready to run.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    search : CoSearch or Portfolio
    rng : numpy.random.Generator
        Where it is after the start.
    state : State
        Of the start.
    start : Plan
        The start, at full resolution if that is soon done.
    start_name : str
        What kind of start it is.
    family : TopologyFamily
        The networks that are searched.
    replays_later : bool
        Nothing is replayed before the search ends, the start neither.
    """

    problem: Problem
    settings: Settings
    search: CoSearch | Portfolio
    rng: np.random.Generator
    state: State
    start: Plan
    start_name: str
    family: TopologyFamily
    replays_later: bool = False

    def timeline(self, candidate: Candidate) -> Timeline:
        """A candidate's times at full resolution."""
        return self.search.pricer.exact(candidate.strategy, candidate.network, candidate.directions)

    def choose(self, state: State) -> tuple[Candidate, Timeline]:
        """The fastest candidate at full resolution, of the best one and others, as far as hops go."""
        return choose(self._replayed(finalists_of(state)))

    def _final_hops(self) -> float:
        time, budget = self.settings.time, self.settings.budget
        a_second = HOPS_A_SECOND * (1 if self.problem.micro_batches == 1 else HOPS_OF_PIPELINES)
        most = FINAL_HOPS if time is None else max(FINAL_HOPS, a_second * time)
        return most if budget is None else min(most, FINAL_HOPS, max(GLANCED_HOPS, HOPS_A_PROPOSAL * budget))

    def _rough(self, candidate: Candidate) -> Timeline:
        """A candidate's times as the search has them."""
        return self.search.pricer.rough(candidate.strategy, candidate.network, candidate.directions)

    def _replayed(
        self, waiting: list[Candidate], known: Sequence[tuple[Candidate, Timeline]] = (), *, strict: bool = False
    ) -> list[tuple[Candidate, Timeline]]:
        """Candidates with their timelines at full resolution, beside those that are ``known``: one at least.

        Others begin as long as hops are left; if ``strict``, of fewer hops, and only where they end in time.
        """
        replayed, hops = list(known), 0.0
        most_hops = GLANCED_HOPS if strict else self._final_hops()
        while waiting:
            next_ones = list[Candidate]()
            for one in likely_fastest(waiting, [(plan, times.seconds) for plan, times in replayed], 2):
                work = min(self.search.pricer.exact_work(one.strategy, one.network), 2 * MOST_HOPS)  # sent in two ways
                if (hops + work <= most_hops if strict else hops < most_hops) or hops == 0.0:
                    next_ones.append(one)
                hops += work
            if not next_ones:
                break
            replayed += zip(next_ones, self._timelines(next_ones), strict=True)
            waiting = [one for one in waiting if not any(one is other for other in next_ones)]
        return replayed

    def _timelines(self, candidates: list[Candidate]) -> list[Timeline]:
        """At full resolution, two at a time where that leaves the pricer as it is."""
        with ThreadPoolExecutor(2 if self.problem.semantics.fair_links else 1) as beside:
            return list(beside.map(self.timeline, candidates))

    def glanced(self, candidate: Candidate) -> float:
        """A candidate's seconds for a checkpoint: at full resolution where that is soon done."""
        if candidate is self.state.current:
            return self.start.seconds
        soon = not self.replays_later and is_soon_exact(self.search.pricer, candidate)
        return self.timeline(candidate).seconds if soon else candidate.seconds

    def found(
        self, outcome: Outcome, earlier_s: float = 0.0, proven: Callable[[bool], Bound | None] = _not_begun
    ) -> Found:
        """Price the best plans at full resolution, and keep the fastest if it is faster than the start.

        Parameters
        ----------
        outcome : Outcome
            How the search ended.
        earlier_s : float
            Seconds spent proposing before it was resumed.
        proven : callable, optional
            The bound, if it is being proven already; whether to wait for it.  Where it is None, the bound is proven
            here, unless nobody waits for that.
        """
        if not outcome.interrupted:
            try:
                return self._found(outcome, earlier_s, proven)
            except GivenUp:
                outcome = replace(outcome, interrupted=True)
        with undisturbed():
            return self._found(outcome, earlier_s, proven)

    def _found(self, outcome: Outcome, earlier_s: float, proven: Callable[[bool], Bound | None]) -> Found:
        first, pricer = self.state.current, self.search.pricer
        finalists, chosen = finalists_of(outcome.state), outcome.state.chosen
        before = [] if chosen is None or chosen is first else [chosen]
        start = self.start
        untold = not self._has_file(finalists[0])
        as_searched = untold or (outcome.interrupted and not self._is_soon_replayed(finalists[0]))
        if as_searched:
            start = replace(start, timeline=self._rough(first))
            replayed = [(first, start.timeline), *((one, self._rough(one)) for one in (*before, finalists[0]))]
        else:
            soon = is_soon_exact(pricer, first)
            told = soon and not self.replays_later
            if not told and (soon or not outcome.interrupted):
                problem, timeline = pricer.fastest(first.strategy, first.network, first.directions, n_thread=2)
                start = replace(start, problem=problem, timeline=timeline)
            finalists = [one for one in finalists if one is not first]
            before = [one for one in before if not outcome.interrupted or is_soon_exact(pricer, one)]
            known = [(first, start.timeline), *zip(before, self._timelines(before), strict=True)]
            replayed = self._replayed(finalists, known, strict=outcome.interrupted)
        best, timeline = choose(replayed)
        problem = start.problem
        if best is not first and not (outcome.interrupted or untold):
            best, timeline = self._settled(best, timeline)
        if best is not first:
            at_once = pricer.problem.with_transfers_at_once()
            problem = at_once if as_searched else pricer.sent_as(best.strategy, best.network, timeline)
            if not (outcome.interrupted or untold) and are_open(problem, self.settings):
                best, timeline, problem = with_best_buckets(pricer, best, timeline, problem)
        plan = Plan(problem, best.strategy, best.network, timeline, best.directions, pricer.protocol)
        interrupted, draws, path_draws = outcome.interrupted, tuple[float, ...](), tuple[float, ...]()
        bound = proven(False) if interrupted else None
        if not interrupted:
            try:
                bound = proven(True) or self.bound()
                if not untold:
                    draws, path_draws = self._other_draws(plan), self._path_draws(plan)
            except GivenUp:
                interrupted = True
        fixed = () if bound is None or interrupted else self._fixed(plan, bound)
        pricer.release()
        return Found(
            settings=self.settings,
            plan=plan,
            start=start,
            start_name=self.start_name,
            searched_seconds=best.seconds,
            start_searched_seconds=first.seconds,
            changed=not_data_parallel(plan.strategy, self.search.moves.space),
            iterations=outcome.state.iteration,
            improved_at=outcome.improved_at,
            search_s=earlier_s + outcome.elapsed,
            interrupted=interrupted,
            bound=bound,
            fixed=fixed,
            draws=draws,
            path_draws=path_draws,
            as_searched=as_searched,
        )

    def _is_soon_replayed(self, candidate: Candidate) -> bool:
        """Whether nobody waits long for a replay, nor for what it needs to be compiled first."""
        ready = not self.replays_later or is_kept(simulate_packets)
        return ready and is_soon_exact(self.search.pricer, candidate)

    def _has_file(self, candidate: Candidate) -> bool:
        """Whether a file may hold its task graph, which can then be replayed."""
        try:
            require_room_for(self.search.pricer.tasks(candidate.strategy), candidate.network)
        except TooLargeError:
            return False
        return True

    def _settled(self, best: Candidate, timeline: Timeline) -> tuple[Candidate, Timeline]:
        """The plan without reductions that wait at no gain by the search's prices, if it is as fast without them."""
        strategy, rough = best.strategy, self._rough(best).seconds
        eager = without_idle_waits(strategy, rough, lambda one: self._rough(best._replace(strategy=one)).seconds)
        if eager is strategy:
            return best, timeline
        settled = best._replace(strategy=eager)
        return choose([(settled, self.timeline(settled)), (best, timeline)])

    def bound(self) -> Bound | None:
        """What no plan can beat, unless the original's semantics do not tell."""
        of_dp = self.settings.start == "dp"
        if not (of_dp or self.problem.semantics.fair_links):
            return None
        terms = self.search.moves.space.terms(strided=self.settings.strided) if of_dp else None
        time, budget = self.settings.time, self.settings.budget
        is_short = (time is not None and time < LONG_S) or (budget is not None and budget < MANY_PROPOSALS)
        share = SHORT_WORK if budget is not None and budget < FEW_PROPOSALS else 1.0 if is_short else LONG_WORK
        protocol = self.search.pricer.protocol
        return bound_of(self.problem, self.family, terms=terms, work=share * MOST_WORK, protocol=protocol)

    def _fixed(self, plan: Plan, bound: Bound) -> tuple[PlanBound, ...]:
        """What the plan's cuts and places allow on any network, and on this one: as much as any plan at least."""
        n_task = len(self.search.pricer.tasks(plan.strategy).kind)
        if not self.problem.semantics.fair_links or n_task > BOUNDED_TASKS:
            return ()
        graph = plan.task_graph()
        protocol, cluster, network = self.search.pricer.protocol, self.problem.cluster, plan.network
        if protocol.by_packet:
            cluster = packet_cluster(cluster, self.family.interfaces(cluster.n_server))
            network = packet_network(network)
        of_all = PlanBound(bound.seconds, "as any plan")
        builder = Builder(plan.problem)
        copies = builder.alike(plan.strategy)
        direct = build(plan.problem, plan.strategy, builder, any_order=True)
        of_strategy = bound_with_strategy(direct, cluster, self.family, protocol.small_packet_bytes, copies)
        of_network = bound_with_network(graph, network, protocol.small_packet_bytes)
        return longest((of_all, of_strategy)), longest((of_all, of_strategy, of_network))

    def _other_draws(self, plan: Plan) -> tuple[float, ...]:
        """What the plan's strategy takes on other draws of a network that is random, seconds, ascending."""
        if not self.family.random:
            return ()
        pricer, seeds = self.search.pricer, [[self.settings.seed, draw] for draw in range(1, OTHER_DRAWS + 1)]
        demand, fitted = pricer.demand(plan.strategy), isinstance(self.search, Portfolio)
        draws = [other_draw(self.problem, self.family, demand, seed, fitted=fitted) for seed in seeds]
        times = [[pricer.exact(plan.strategy, one, plan.directions).seconds for one in draw] for draw in draws]
        return tuple(sorted(map(min, times)))

    def _path_draws(self, plan: Plan) -> tuple[float, ...]:
        """What the plan takes where flows choose among equal paths, seconds, ascending; none if that is all the same.

        Nor if there are too many packets to follow.
        """
        fabric, graph, protocol = Fabric(plan.network), plan.task_graph(), plan.protocol
        if not (fabric.several and self.problem.semantics.fair_links):
            return ()
        arrays, routes = draw_routes(graph, fabric, protocol, np.random.default_rng(1))
        if protocol.by_packet and packet_hops(graph.arrays(), arrays, protocol, routes) > DRAWN_HOPS / PATH_DRAWS:
            return ()
        found = list[float]()
        for one in replays(graph, fabric, range(1, PATH_DRAWS + 1), protocol=protocol):
            found.append(one.seconds)
            if len(found) == 2 and found[0] == found[1] and abs(found[0] / plan.seconds - 1.0) < ROUNDED:
                return ()
        return tuple(sorted(found))


def is_soon_exact(pricer: Pricer, candidate: Candidate) -> bool:
    """Whether pricing at full resolution takes no longer than people wait without a word."""
    return pricer.exact_work(candidate.strategy, candidate.network) <= GLANCED_HOPS
