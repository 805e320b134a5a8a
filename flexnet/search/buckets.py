"""How large buckets of gradients are: what is best for the start, and in the end for the plan that was found.

All-reduces of single weights send a packet at least in every round, and take all rounds' latencies; in large buckets
they begin late.  Which counts depends on the model, the servers and the links.
"""

import numpy as np

from flexnet.plan.problem import Problem
from flexnet.search.candidates import Candidate
from flexnet.search.pricing import Pricer
from flexnet.search.settings import Settings, method_of
from flexnet.simulate.link_model import Timeline
from flexnet.simulate.protocol import PROTOCOLS

__all__ = ["SIZES", "are_open", "set_best_buckets", "with_best_buckets"]

SIZES = tuple(250e3 * 2.0**k for k in range(8))
"""Bytes of the buckets that are tried beside none."""

LOOKED_AT = 2  # sizes that the plan found is replayed with, of those that are best by the search's prices


def are_open(problem: Problem, settings: Settings) -> bool:
    """Whether a search is to choose: a portfolio whose protocol runs all rounds, and nobody has said what to take."""
    semantics, protocol = problem.semantics, PROTOCOLS[settings.protocol]
    is_portfolio = method_of(settings.method, semantics) == "portfolio"
    return settings.bucket_bytes is None and is_portfolio and protocol.small_packet_bytes == 0


def set_best_buckets(pricer: Pricer, plan: Candidate) -> float:
    """Let a pricer price with the buckets that are best for a plan, small ones of equals; return what it takes then."""
    seconds, size = min(_priced(pricer, plan))
    pricer.set_buckets(size)
    return seconds


def with_best_buckets(
    pricer: Pricer, plan: Candidate, timeline: Timeline, problem: Problem
) -> tuple[Candidate, Timeline, Problem]:
    """The plan that was found, with the buckets that are best for it, and how it then runs.

    Parameters
    ----------
    pricer : Pricer
        It goes on with those buckets.
    plan : Candidate
    timeline : Timeline
        Of a replay with the buckets it was searched with.
    problem : Problem
        With these.
    """
    searched = pricer.problem.bucket_bytes
    found = plan, timeline, problem
    others = [one for one in _priced(pricer, plan) if one[1] != searched]
    for seconds, size in sorted(others)[:LOOKED_AT]:
        pricer.set_buckets(size)
        other, its_timeline = pricer.fastest(plan.strategy, plan.network, plan.directions)
        if its_timeline.seconds < found[1].seconds:
            found = plan._replace(seconds=seconds), its_timeline, other
    pricer.set_buckets(found[2].bucket_bytes)
    return found


def _priced(pricer: Pricer, plan: Candidate) -> list[tuple[float, float]]:
    """What a plan takes by the search's prices with buckets of every size, and that size."""
    told = []
    rng = np.random.default_rng(0)  # nothing is drawn where links are shared fairly
    for size in (0.0, *SIZES):
        pricer.set_buckets(size)
        told.append((pricer.price(rng, plan.strategy, plan.network).seconds, size))
    return told
