"""A network, measured as a search request asks."""

from collections.abc import Callable

from flexnet.commands.requests.contender import Contender
from flexnet.commands.requests.search import SearchRequest
from flexnet.commands.runs.inputs import read_costs, read_start, with_memory
from flexnet.compare.measure import Measured, measure
from flexnet.plan.problem import make_problem

__all__ = ["measured_of"]


def measured_of(request: SearchRequest, contender: Contender, stop: Callable[[], bool] = lambda: False) -> Measured:
    """Read what the search needs, and measure the network, unless it is stopped.

    Raises
    ------
    FlexNetError
        If an input is wrong.
    """
    table = read_costs(request)
    request = with_memory(request, table)
    problem = make_problem(request.graph, table, request.cluster, request.semantics, optimizer=request.optimizer)
    start, spread_over = read_start(request, problem), contender.spread_over
    return measure(problem, request.settings, start, spread_over=spread_over, stop=stop)
