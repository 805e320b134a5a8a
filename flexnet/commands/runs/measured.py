"""A network, measured as a search request asks."""

from collections.abc import Callable, Sequence

from flexnet.commands.requests.search import SearchRequest
from flexnet.commands.runs.inputs import problem_of, read_costs, read_known, read_start, with_memory
from flexnet.compare.measure import Measured, measure
from flexnet.plan.strategy import Configs

__all__ = ["measured_of"]


def measured_of(
    request: SearchRequest,
    stop: Callable[[], bool] = lambda: False,
    known: Sequence[Configs] = (),
) -> Measured:
    """Read what the search needs, and measure the network, unless it is stopped.

    ``known`` are strategies to begin with beside the request's own.

    Raises
    ------
    FlexNetError
        If an input is wrong.
    """
    table = read_costs(request)
    request = with_memory(request, table)
    problem = problem_of(request, table)
    start = read_start(request, problem)
    known = [*read_known(request, problem), *known]
    return measure(problem, request.settings, start, known, stop=stop)
