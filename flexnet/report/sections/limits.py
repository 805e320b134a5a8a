"""What limits the plan: where the time of servers goes."""

from flexnet.report.attribution import ACTIVITIES, COMPUTE
from flexnet.report.page import Bar, BarChart, Part, Row, Section, Table
from flexnet.report.values import RunValues, ServerClass, servers_text
from flexnet.units import ms_text

__all__ = ["limits_section"]

_COLOURS = ("compute", "allreduce", "transfer", "idle")
_WORDS = ("computing", "waiting for all-reduces", "waiting for transfers", "idle")


def limits_section(values: RunValues) -> Section:
    """A bar for every class of servers."""
    mean = values.mean
    total = max(sum(mean), 1e-300)
    shares = sorted(((mean[i] / total, _WORDS[i]) for i in range(1, len(mean))), reverse=True)
    share, words = shares[0]
    lead = f"On average a server computes for {100 * mean[COMPUTE] / total:.0f} % of the iteration. "
    lead += (
        f"Most of the rest, {100 * share:.0f} % of the iteration, it is {words}."
        if share > 0.005
        else "Hardly anything else takes time: the plan is limited by compute."
    )
    classes = values.classes
    n = sum(len(found.servers) for found in classes)
    bars = tuple(_bar(found, n) for found in classes)
    head = "every server" if len(classes) == 1 else f"{len(classes)} classes of servers whose time goes alike"
    chart = BarChart(f"Where the time of {head} goes", bars, tuple(zip(_COLOURS, ACTIVITIES, strict=True)))
    rows = tuple(
        Row(
            (
                _label(found, n),
                *(ms_text(_visible(seconds, found)) for seconds in found.seconds),
                ms_text(sum(found.seconds)),
            )
        )
        for found in classes
    )
    table = Table("The same in numbers", ("servers", *ACTIVITIES, "iteration"), rows, (1, 2, 3, 4, 5), folded=True)
    return Section("limits", "What limits it", lead, (chart, table))


def _visible(seconds: float, found: ServerClass) -> float:
    """Without what rounding leaves of nothing."""
    return seconds if seconds > 1e-9 * sum(found.seconds) else 0.0


def _bar(found: ServerClass, n: int) -> Bar:
    total = max(sum(found.seconds), 1e-300)
    parts = tuple(
        Part(seconds / total, colour) for seconds, colour in zip(found.seconds, _COLOURS, strict=True) if seconds > 0
    )
    return Bar(_label(found, n), f"{100 * found.seconds[COMPUTE] / total:.0f} % compute", parts)


def _label(found: ServerClass, n: int) -> str:
    if len(found.servers) == n:
        return f"all {n} servers" if n > 1 else "the server"
    text = servers_text(found.servers, 3)
    return f"server {text}" if len(found.servers) == 1 else f"{len(found.servers)} servers: {text}"
