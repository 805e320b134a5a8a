"""How long searches of one model in several ways may take at least: what to search, before that is laid out."""

import numpy as np

from flexnet.interrupts import check
from flexnet.plan.memory import memory_needed
from flexnet.plan.problem import Problem
from flexnet.plan.strategy import make_strategy
from flexnet.plan.task_graph_builder import Builder
from flexnet.search.floor import floor_seconds, pipeline_seconds
from flexnet.search.moves.space import make_space
from flexnet.search.prepare import memory_limit, prepare
from flexnet.search.settings import Settings
from flexnet.search.starts.data_parallel import data_parallel
from flexnet.search.starts.kinds import StartKinds

__all__ = ["first_prices", "promise"]

KINDS = "stages", "layers"  # that are soon laid out


def promise(problem: Problem, settings: Settings) -> float:
    """Seconds that data parallelism, stages or layers take at least on any network, of those that fit; inf: none does.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    """
    rng, family, limit = np.random.default_rng(settings.seed), settings.family(problem), memory_limit(problem, settings)
    space = make_space(problem, strided=settings.strided, parameter_parallel=settings.parameter_parallel)
    kinds, once = StartKinds(space, family, limit), Builder(problem.of_one_micro_batch())
    interfaces, least = family.interfaces(problem.cluster.n_server), np.inf
    starts = (strategy for name in KINDS for strategy in kinds.strategies(name, rng))
    for strategy in (make_strategy(problem, data_parallel(rng, space)), *starts):
        check()
        if limit is None or memory_needed(problem, strategy) <= limit:
            sent = floor_seconds(problem, strategy, once.arrays(strategy), interfaces, 0.0)
            least = min(least, max(sent, pipeline_seconds(problem, strategy)))
    return least


def first_prices(problem: Problem, settings: Settings, n: int) -> float:
    """Seconds of the best plan of a search's first ``n`` proposals, which price its most promising starts."""
    ready = prepare(problem, settings, replays_later=True)
    state = ready.state
    for _ in range(n):
        check()
        state, _info = ready.search.step(ready.rng, state)
    return state.best.seconds
