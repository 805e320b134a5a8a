"""``flexnet compare MODEL``: several networks, searched equally hard, in one table with dollars."""

import time
from typing import TYPE_CHECKING

import click

from flexnet.commands.console.printing import say
from flexnet.commands.console.progress import Display
from flexnet.commands.requests.compare import COMPARE_FLAGS, CompareRequest, compare_request
from flexnet.commands.requests.contender import Contender
from flexnet.commands.requests.model_command import ModelCommand, model_argument

if TYPE_CHECKING:
    from flexnet.compare.contest import Contest, Standing
    from flexnet.compare.measure import Measured

__all__ = ["compare"]


@click.pass_context
def _compare(ctx: click.Context, /, **_: object) -> int:
    """Searches several networks equally hard, and says which is best for this model and this money.

    MODEL is one that flexnet models lists; flexnet compare MODEL --help shows its flags too.
    """
    request = compare_request(compare.asked(ctx))
    contenders = request.contenders()
    if request.output is not None:
        from flexnet.report.extra import check_extra

        check_extra()
    if request.explain and not request.as_json:
        _explain(request, contenders)
    if request.words:
        contest = _held(request, contenders)
        if request.as_json:
            import orjson

            say(orjson.dumps(contest.to_dict(), option=orjson.OPT_INDENT_2).decode())
        else:
            for line in contest.lines():
                say(line)
        _write(request, contenders, contest)
    return 0


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


def _held(request: CompareRequest, contenders: list[Contender | tuple[str, str]]) -> "Contest":
    """Search every network as often as it is drawn."""
    from flexnet.compare.contest import Contest

    buyable = [one for one in contenders if isinstance(one, Contender)]
    searches = {
        id(one): [one.request(request.words, request.seed + i) for i in range(request.draws_of(one))] for one in buyable
    }  # all are checked before the first begins
    total, began, done = sum(map(len, searches.values())), time.monotonic(), 0
    display = Display(total)
    standings = list["Standing"]()
    for one in contenders:
        if isinstance(one, tuple):
            standings.append(_standing_of(one, []))
            continue
        measured = list["Measured"]()
        for search in searches[id(one)]:
            from flexnet.commands.runs.measured import measured_of

            measured.append(measured_of(search, one))
            done += 1
            if not request.as_json:
                left = (time.monotonic() - began) / done * (total - done)
                display.show_step(done, f"{one.fabric.name} searched", left)
        standings.append(_standing_of(one, measured, request))
    display.clear()
    return Contest(request.title, request.sentences(), tuple(standings))


def _standing_of(
    one: Contender | tuple[str, str], measured: "list[Measured]", request: CompareRequest | None = None
) -> "Standing":
    from flexnet.compare.contest import Standing

    if isinstance(one, tuple):
        return Standing(one[0], None, remark=one[1])
    assert request is not None
    median = sorted(range(len(measured)), key=lambda i: measured[i].seconds)[len(measured) // 2]
    return Standing(
        one.fabric.name,
        one.interfaces,
        tuple(measured),
        one.dollars,
        one.watts,
        one.remark,
        one.words(request.words, request.seed + median),
    )


def _write(request: CompareRequest, contenders: list[Contender | tuple[str, str]], contest: "Contest") -> None:
    """Write the page and the figures, if there is a directory for them."""
    directory = request.output
    if directory is None:
        return
    import orjson

    from flexnet.commands.runs.versions import now, versions
    from flexnet.compare.page import contest_page
    from flexnet.errors import FlexNetError
    from flexnet.files import write_atomically
    from flexnet.report.page import render_page

    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FlexNetError(f"cannot make directory {directory}: {error.strerror or error}") from None
    bills = {
        one.fabric.name: one.fabric.bill(one.interfaces)
        for one in contenders
        if isinstance(one, Contender) and request.terms.prices is not None
    }
    page = render_page(contest_page(contest, bills, request.terms.prices))
    write_atomically(directory / "report.html", page.encode())
    document = {**contest.to_dict(), "written": now(), "versions": versions()}
    write_atomically(directory / "compare.json", orjson.dumps(document, option=orjson.OPT_INDENT_2))
    if not request.as_json:
        say(f"wrote {directory / 'report.html'}, {directory / 'compare.json'}")
