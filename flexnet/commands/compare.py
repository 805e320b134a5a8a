"""``flexnet compare MODEL``: several networks, searched equally hard, in one table with dollars."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flexnet.commands.console.printing import say
from flexnet.commands.console.progress import Display
from flexnet.commands.console.signals import interruptible
from flexnet.commands.requests.compare import COMPARE_FLAGS, CompareRequest, compare_request
from flexnet.commands.requests.contender import Contender
from flexnet.commands.requests.model_command import ModelCommand, model_argument
from flexnet.errors import FlexNetError
from flexnet.interrupts import GivenUp

if TYPE_CHECKING:
    from flexnet.commands.console.signals import Interruption
    from flexnet.compare.contest import Contest, Standing
    from flexnet.compare.measure import Measured
    from flexnet.prices.bill import Bill

__all__ = ["compare"]


@click.pass_context
def _compare(ctx: click.Context, /, **_: object) -> int:
    """Searches several networks equally hard, and says which is best for this model and this money.

    MODEL is one that flexnet models lists, or a model file; flexnet compare MODEL --help shows its flags too.
    """
    request = compare_request(compare.asked(ctx))
    contenders = request.contenders()
    if request.output is not None:
        from flexnet.files import make_directory
        from flexnet.report.extra import check_extra

        check_extra()
        make_directory(request.output)
        if (request.output / "run.json").exists():
            raise FlexNetError(f"{request.output} holds a search, whose report.html stays; name another directory")
    if request.explain and not request.as_json:
        _explain(request, contenders)
    refused = [": ".join(one) for one in contenders if isinstance(one, tuple)]
    if request.words and len(refused) == len(contenders):
        raise FlexNetError("; ".join(refused))
    with interruptible() as stop:
        contest = _held(request, contenders, stop) if request.words else None
    if request.as_json:
        say(_document(request, contenders, contest).decode())
    elif contest is not None:
        for line in contest.lines():
            say(line)
    if contest is not None and request.output is not None:
        _write(request.output, request, contenders, contest)
    return stop.status if stop() else 0


compare = ModelCommand("compare", params=[model_argument(), *COMPARE_FLAGS], callback=_compare, help=_compare.__doc__)


def _explain(request: CompareRequest, contenders: list[Contender | tuple[str, str]]) -> None:
    """Tell the components of every network, which add up to its price."""
    prices = request.terms.prices
    assert prices is not None
    for one in contenders:
        if isinstance(one, tuple):
            say(f"{one[0]}: {one[1]}")
            continue
        say(f"{one.fabric.name}: {one.fabric.n_server} servers with {one.interfaces} each, ${one.dollars:,.0f}")
        for line in one.fabric.bill(one.interfaces).lines(prices):
            say(line)
    say(f"prices: {prices.source or prices.name}")


def _held(request: CompareRequest, contenders: list[Contender | tuple[str, str]], stop: "Interruption") -> "Contest":
    """Search every network as often as it is drawn; once stopped, none that is not searched to the end counts."""
    from flexnet.commands.runs.measured import measured_of
    from flexnet.compare.contest import Contest, Standing

    searches = [  # all are checked before the first begins
        [] if isinstance(one, tuple) else one.searches(request.words, request.seed, request.draws_of(one))
        for one in contenders
    ]
    total, began, done = sum(map(len, searches)), time.monotonic(), 0
    display = Display(total)
    standings = list["Standing"]()
    for one, draws in zip(contenders, searches, strict=True):
        if isinstance(one, tuple):
            standings.append(Standing(one[0], None, remark=one[1]))
            continue
        measured = list["Measured"]()
        for search in draws:
            try:
                found = None if stop() else measured_of(search, stop)
            except GivenUp:
                found = None
            if found is None or stop():
                break
            measured.append(found)
            done += 1
            if not request.as_json:
                left = (time.monotonic() - began) / done * (total - done)
                display.show_step(done, f"{one.fabric.name} searched", left)
        standings.append(_standing_of(one, measured, request))
    display.clear()
    origins = {one.found.plan.problem.table.origin for standing in standings for one in standing.measured}
    times = tuple(f"times {origin}" for origin in sorted(origins))
    return Contest(request.title, (*request.sentences(), *times), tuple(standings))


def _standing_of(one: Contender, measured: "list[Measured]", request: CompareRequest) -> "Standing":
    from flexnet.compare.contest import Standing
    from flexnet.units import TOLD_RATIO

    name, n_draw = one.fabric.name, request.draws_of(one)
    remarks = [one.remark] if one.remark else []
    if len(measured) < n_draw:
        remarks.append(f"stopped after {len(measured)} of {n_draw} searches")
    if not measured:
        return Standing(name, one.interfaces, (), one.dollars, one.watts, "; ".join(remarks))
    median = sorted(range(len(measured)), key=lambda i: measured[i].seconds)[len(measured) // 2]
    longer = measured[median].all_rounds
    if longer >= TOLD_RATIO:
        remarks.append(
            f"{longer:.2f} times as long with all rounds of small all-reduces, which FlexNetPacket cuts short"
        )
    if (paths := measured[median].found.paths_text) is not None:
        remarks.append(paths)
    arguments = one.words(request.words, request.seed + median)
    return Standing(name, one.interfaces, tuple(measured), one.dollars, one.watts, "; ".join(remarks), arguments)


def _bills(request: CompareRequest, contenders: list[Contender | tuple[str, str]]) -> "dict[str, Bill]":
    """Components of every network that can be had, by its name; none without prices."""
    buyable = [one for one in contenders if isinstance(one, Contender) and request.terms.prices is not None]
    return {one.fabric.name: one.fabric.bill(one.interfaces) for one in buyable}


def _document(
    request: CompareRequest, contenders: list[Contender | tuple[str, str]], contest: "Contest | None"
) -> bytes:
    """All figures as JSON, with components if they are asked for."""
    import orjson

    from flexnet.commands.runs.versions import now, versions

    document = {} if contest is None else contest.to_dict()
    prices = request.terms.prices
    if prices is not None:
        document["prices"] = {"source": prices.source, "file": prices.name}
        if request.explain:
            bills = _bills(request, contenders)
            document["components"] = {name: bill.to_dict(prices) for name, bill in bills.items()}
    document |= {"written": now(), "versions": versions()}
    return orjson.dumps(document, option=orjson.OPT_INDENT_2)


def _write(
    directory: Path, request: CompareRequest, contenders: list[Contender | tuple[str, str]], contest: "Contest"
) -> None:
    """Write the page and the figures."""
    from flexnet.compare.page import contest_page
    from flexnet.files import write_atomically
    from flexnet.report.page import render_page

    page = render_page(contest_page(contest, _bills(request, contenders), request.terms.prices))
    write_atomically(directory / "report.html", page.encode())
    write_atomically(directory / "compare.json", _document(request, contenders, contest))
    if not request.as_json:
        say(f"wrote {directory / 'report.html'}, {directory / 'compare.json'}")
