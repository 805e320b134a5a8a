"""How the search went."""

from collections import Counter

from flexnet.errors import counted
from flexnet.report.drawings import FAMILY_COLOURS, draw_history, family_of_move
from flexnet.report.page import Block, Figure, Row, Section, Table
from flexnet.report.values import RunValues
from flexnet.search.history import History
from flexnet.units import duration_text, ms_text

__all__ = ["search_section"]


def search_section(values: RunValues) -> Section:
    """Best and current over seconds, starts, and what every move brought."""
    history = values.history
    if history is None:
        return Section("search", "How the search went", "This run kept no history of its search.")
    last, gains = history.last, [point for point in history.points[1:] if point.tried]
    speed = f" ({last.proposals / last.elapsed:.0f} a second)" if last.elapsed > 0 else ""
    lead = f"{counted(last.proposals, 'proposal')} in {duration_text(last.elapsed)}{speed}. "
    if gains:
        origin = f"; it descends from a {gains[-1].origin} start" if gains[-1].origin else ""
        lead += f"The best was found after {duration_text(gains[-1].elapsed)}{origin}."
    elif values.seconds < values.start_seconds:
        lead += "By the prices of proposals nothing was faster than the start; followed packet by packet, one plan is."
    else:
        lead += "Nothing was found that is faster than the start."
    words = f"Best {ms_text(history.points[0].best)} at first, {ms_text(last.best)} in the end."
    legend = (
        ("compute", "best so far"),
        ("idle", "current"),
        *((colour, f"improved by {family}") for family, colour in FAMILY_COLOURS.items()),
    )
    blocks: list[Block] = [
        Figure("Iteration time as it was searched for", draw_history(history, values.bound, words), legend, 620),
        _moves(history),
    ]
    if len(history.starts) > 1:
        blocks.append(_starts(history))
    return Section("search", "How the search went", lead, tuple(blocks))


def _moves(history: History) -> Table:
    rows = tuple(
        Row(
            (
                name or "moves",
                family_of_move(name),
                str(tally.proposals),
                f"{100 * tally.accepted / max(tally.proposals, 1):.1f} %",
                str(tally.improved),
                ms_text(tally.gained) if tally.gained else "",
            )
        )
        for name, tally in sorted(history.tallies.items(), key=lambda item: (-item[1].gained, item[0]))
    )
    columns = ("what was tried", "family", "proposals", "accepted", "new best", "gained")
    return Table("What moves brought", columns, rows, numeric=(2, 3, 4, 5))


def _starts(history: History) -> Table:
    best: dict[str, float] = {}
    for name, seconds in history.starts:
        best[name] = min(best.get(name, seconds), seconds)
    counts = Counter(name for name, _ in history.starts)
    winner = next((point.origin for point in reversed(history.points) if point.tried), "")
    rows = tuple(
        Row((name or "start", str(counts[name]), ms_text(seconds)), "led to the best" if name == winner else "")
        for name, seconds in sorted(best.items(), key=lambda item: (round(item[1], 12), item[0]))
    )
    return Table("Starts", ("kind", "how many", "fastest"), rows, numeric=(1, 2))
