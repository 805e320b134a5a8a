"""One call that finds a plan."""

from collections.abc import Callable, Sequence

from flexnet.plan.problem import Problem
from flexnet.plan.strategy import Configs
from flexnet.search.driver import Progress
from flexnet.search.found import Found
from flexnet.search.jobs import run
from flexnet.search.prepare import prepare
from flexnet.search.settings import Settings
from flexnet.search.state import Info, State

__all__ = ["find_plan"]


def find_plan(
    problem: Problem,
    settings: Settings,
    start: Configs | None = None,
    known: Sequence[Configs] = (),
    *,
    observe: Callable[[Progress, State, Info], None] | None = None,
) -> Found:
    """Search, and price what was found at full resolution.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    start : sequence of Config, or mapping, optional
        The starting strategy, in model order or by operator name; None for what the settings say.
    known : sequence of Configs
        Strategies that were found before, to begin with beside those.
    observe : callable, optional
        Called after every proposal.

    Raises
    ------
    FlexNetError
        If the topology cannot be built for this cluster, or the starting strategy does not fit.
    """
    ready = prepare(problem, settings, start, known)
    return ready.found(run(ready, ready.state, observe=observe))
