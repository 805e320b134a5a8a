"""The page of a comparison."""

from collections.abc import Sequence

from flexnet.compare.contest import Contest, Standing
from flexnet.prices.bill import Bill
from flexnet.prices.table import PriceTable
from flexnet.report.page import Bar, BarChart, Block, Code, Fact, Page, Part, Row, Section, Table, Text
from flexnet.units import ms_text, s_to_ms

__all__ = ["contest_page"]

_COMPUTE, _EXPOSED = "compute", "allreduce"


def contest_page(contest: Contest, bills: dict[str, Bill], prices: PriceTable | None) -> Page:
    """The page of a comparison.

    Parameters
    ----------
    contest : Contest
    bills : dict
        Components of every network that can be had, by its name.
    prices : PriceTable or None
    """
    running = contest.running
    sections = [_table(contest), _times(running)]
    if prices is not None and running:
        sections += [_money(running), _components(bills, prices)]
    sections.append(_again(running))
    facts = []
    if running:
        first, last = running[0], running[-1]
        facts.append(Fact("Fastest", ms_text(first.median.seconds), first.name))
        if last is not first:
            ratio = last.median.seconds / first.median.seconds
            facts.append(Fact("Faster than the slowest", f"{ratio:.2f}x", last.name))
        priced = [one for one in running if one.dollar_seconds is not None]
        if priced:
            best = min(priced, key=lambda one: one.dollar_seconds or 0.0)
            facts.append(Fact("Least time x dollars", f"{best.dollar_seconds:,.0f} $ s", best.name))
    subtitle = _sentence(contest.terms[:1]) + " " + _sentence(contest.verdict())
    return Page("flexnet compare", contest.title, subtitle, tuple(facts), tuple(sections))


def _sentence(parts: Sequence[str]) -> str:
    """Parts of one, which begins with a capital."""
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _table(contest: Contest) -> Section:
    columns = contest.columns
    first = contest.running[0].name if contest.running else ""
    rows = tuple(
        Row(tuple(one.cells().get(name, "") for name in columns), mark="fastest" if one.name == first else "")
        for one in contest.standings
    )
    numeric = tuple(range(2, len(columns)))
    table = Table("Every network, searched equally hard", tuple(columns.values()), rows, numeric)
    remarks = [Text(f"{one.name}: {one.remark}.") for one in contest.standings if one.remark]
    explained = Text(
        "Gap: time over what no plan on such a network can beat. Tax: bytes servers send, with those they forward, "
        "over bytes they have to send. Hops: links between two servers, on the mean. Spread: of several draws of a "
        "network that chance wires, the median of which is shown."
    )
    return Section("table", "The networks", _sentence(contest.terms), (table, *remarks, explained))


def _times(running: list[Standing]) -> Section:
    widest = max((one.median.seconds for one in running), default=1.0)
    bars = tuple(
        Bar(
            one.name,
            ms_text(one.median.seconds),
            (
                Part(one.median.compute / widest, _COMPUTE, f"compute {ms_text(one.median.compute)}"),
                Part(one.median.exposed / widest, _EXPOSED, f"exposed {ms_text(one.median.exposed)}"),
            ),
        )
        for one in running
    )
    legend = ((_COMPUTE, "compute of the busiest server"), (_EXPOSED, "exposed communication"))
    chart = BarChart("Iteration time, the fastest first", bars, legend)
    lead = "What a training iteration takes on each, and how much of it the busiest server waits for the network."
    return Section("times", "Where the time goes", lead, (chart,) if bars else ())


def _money(running: list[Standing]) -> Section:
    products = {one.name: one.dollar_seconds or 0.0 for one in running}
    dearest, most = max(one.dollars or 0.0 for one in running), max(products.values())
    dollars = tuple(
        Bar(one.name, f"${one.dollars or 0:,.0f}", (Part((one.dollars or 0) / (dearest or 1), "ring0"),))
        for one in running
    )
    busy = tuple(
        Bar(name, f"{product:,.0f} $ s", (Part(product / (most or 1), "ring1"),)) for name, product in products.items()
    )
    blocks = BarChart("Dollars of the network", dollars), BarChart("Time x dollars of an iteration", busy)
    return Section("money", "What it costs", "The less time x dollars, the more iterations for the money.", blocks)


def _components(bills: dict[str, Bill], prices: PriceTable) -> Section:
    blocks: list[Block] = [
        Code(f"{name}: ${bill.dollars(prices):,.0f}", "\n".join(bill.lines(prices))) for name, bill in bills.items()
    ]
    return Section("components", "What the money buys", f"Prices: {prices.source or prices.name}.", tuple(blocks))


def _again(running: list[Standing]) -> Section:
    lines = "\n".join(" ".join(["flexnet search", *one.arguments]) for one in running)
    timed = ", ".join(f"{one.name} {s_to_ms(one.median.found.plan.seconds):.3f} ms" for one in running)
    code = Code("The search on every network, of the draw that is shown", lines)
    return Section("again", "The same again", f"Each of these searches finds one of the plans: {timed}.", (code,))
