"""Numbers that a search finds itself: micro-batches, and the GPUs of a server that share more than samples."""

from contextlib import nullcontext
from dataclasses import dataclass, replace

from flexnet.commands.console.printing import say
from flexnet.commands.console.progress import waiting
from flexnet.commands.requests.model_command import Asked
from flexnet.commands.requests.search import SearchRequest, search_request
from flexnet.commands.requests.types import AUTO
from flexnet.commands.runs.inputs import problem_of, read_costs, with_memory
from flexnet.errors import FlexNetError, counted
from flexnet.model.cutting import divisors
from flexnet.plan.problem import Problem
from flexnet.search.promise import first_prices, promise
from flexnet.search.settings import method_of
from flexnet.units import ms_text

__all__ = ["with_numbers"]

MOST_MICRO_BATCHES = 64  # that are looked at: 1, 2, 4, ...
HOPELESS = 1.2  # times the least promise, and rising: more micro-batches are not looked at
PRICED = 4  # ways whose most promising starts are priced
STARTS = 6

_FLAGS = {"micro_batches": "--micro-batches", "tensor_parallel": "--tensor-parallel"}


@dataclass(frozen=True, slots=True)
class _Way:
    """What is asked with numbers, laid out, and what plans take at least."""

    asked: Asked
    request: SearchRequest
    problem: Problem
    least: float


def with_numbers(asked: Asked) -> Asked:
    """What was asked, with numbers in place of ``auto``.

    Of those that promise most, by what data parallelism, stages and layers take at least, the first starts are priced.

    Raises
    ------
    FlexNetError
        If the search could not be with any number: what is wrong with the first.
    """
    names = [name for name in _FLAGS if asked.values[name] == AUTO]
    if not names:
        return asked
    quiet = asked.values["as_json"]
    with nullcontext() if quiet else waiting("looking at micro-batches and groups of GPUs"):
        ways = sorted(_ways(asked), key=lambda way: way.least)
        fitting = [way for way in ways[:PRICED] if way.least < float("inf")]
        promising = fitting or ways[:1]  # which the search will refuse
        prices = [first_prices(way.problem, way.request.settings, STARTS) for way in promising] if promising[1:] else []
        chosen = promising[prices.index(min(prices))] if prices else promising[0]
    if not quiet:
        numbers = _numbers_text(chosen, names)
        say(f"auto       {numbers}: the best of {counted(len(ways), 'way')}, of which {len(prices)} were priced")
        for seconds, way in sorted(zip(prices, promising, strict=False), key=lambda priced: priced[0]):
            say(f"           {_numbers_text(way, names)}: {ms_text(seconds)} by first prices")
    return chosen.asked


def _numbers_text(way: _Way, names: list[str]) -> str:
    return " ".join(f"{_FLAGS[name]} {way.asked.values[name]}" for name in names)


def _ways(asked: Asked) -> list[_Way]:
    """Those that are looked at."""
    found, wrong = list[_Way](), list[FlexNetError]()
    for gpus in _numbers(asked, "tensor_parallel", sorted({1, max(asked.values["big_gpu"], 1)})):
        least = list[float]()
        for batches in _numbers(asked, "micro_batches", _powers_of_two(asked.values["batch_size"])):
            numbers = {"tensor_parallel": gpus, "micro_batches": batches}
            try:
                found.append(_way(_with(asked, numbers)))
            except FlexNetError as error:
                wrong.append(error)
                continue
            least.append(found[-1].least)
            rising = len(least) > 1 and least[-1] > least[-2]
            if rising and least[-1] > HOPELESS * min(way.least for way in found):
                break
    if not found:
        raise wrong[0]
    return found


def _way(asked: Asked) -> _Way:
    request = search_request(asked)
    if method_of(request.settings.method, request.semantics) != "portfolio":
        raise FlexNetError(f"{AUTO} needs --method portfolio; name numbers for the original's chain")
    table = read_costs(request)
    request = with_memory(request, table)
    problem = problem_of(request, table)
    return _Way(asked, request, problem, promise(problem, request.settings))


def _numbers(asked: Asked, name: str, options: list[int]) -> list[int]:
    """All there are to choose from."""
    return options if asked.values[name] == AUTO else [asked.values[name]]


def _powers_of_two(batch: int) -> list[int]:
    return [n for n in divisors(batch, MOST_MICRO_BATCHES) if n.bit_count() == 1]


def _with(asked: Asked, numbers: dict[str, int]) -> Asked:
    """With these numbers in place of ``auto``, as if they had been typed."""
    own = {name: n for name, n in numbers.items() if asked.values[name] == AUTO}
    typed = {_FLAGS[name]: str(n) for name, n in own.items()}
    return replace(asked, values={**asked.values, **own}, given={**asked.given, **typed})
