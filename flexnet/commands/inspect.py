"""``flexnet inspect FILE.fbuf``: a task graph file in words."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flexnet.commands.console.printing import say
from flexnet.commands.requests.flags import Command, only_word, switch
from flexnet.errors import counted
from flexnet.units import bytes_per_s_to_gbps, bytes_text, ms_text

if TYPE_CHECKING:
    from flexnet.report.inspection import Inspection

__all__ = ["inspect"]


def _inspect(words: tuple[str, ...], as_json: bool) -> int:
    """Tells what a task graph file holds: counts, bytes by type, groups and rings, routes, busiest links.

    Says what is wrong with it, too, and ends with exit status 1 if no simulator could run it.
    """
    path = only_word(words, "inspect", "file", "no task graph given; use flexnet inspect FILE.fbuf")

    import orjson

    from flexnet.files import printable
    from flexnet.report.inspection import inspect_file
    from flexnet.taskgraph_file.read import read_contents

    found = inspect_file(read_contents(Path(path)))
    if as_json:
        document = {"file": printable(path), **found.to_dict()}
        say(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())
    else:
        for line in _lines(found):
            say(line)
    return 0 if found.sound else 1


inspect = Command(
    "inspect",
    params=[
        click.Argument(["words"], nargs=-1, metavar="FILE", required=False, type=click.Path()),
        switch("as_json", "--json", "print one JSON object"),
    ],
    callback=_inspect,
    help=_inspect.__doc__,
)


def _lines(found: "Inspection") -> Iterable[str]:
    """The file in words."""
    gbps = bytes_per_s_to_gbps(found.link_bandwidth)
    switches = f", {counted(found.n_switch, 'switch')}" if found.n_switch else ""
    yield f"network    {counted(found.n_server, 'server')}{switches}, {counted(found.n_link, 'link')} of {gbps:g} Gbps"
    yield f"operators  {found.n_operator}"
    for name, (n, size, seconds) in found.tasks.items():
        amount = f"{bytes_text(size)}" if size else f"{ms_text(seconds)} on all servers together"
        amount += " of tensors, one member's copy each" if name == "all-reduce" else ""
        yield f"tasks      {n} {name}: {amount}"
    yield f"compute    {ms_text(found.busiest_compute)} on the server that computes longest"
    for members, (n, count, total) in found.groups.items():
        rings, orders = found.rings.get(members), found.orders.get(members)
        along = f"{counted(rings, 'ring')}" if rings else "no rings, so along routes"
        if members == 1:
            along = "inside servers"
        elif orders and not rings:
            along = f"along {counted(orders, 'ring')}, by the orders of members"
        yield (
            f"groups     {counted(n, 'group')} of {counted(members, 'server')}: {counted(count, 'all-reduce')} of "
            f"{bytes_text(total)}; {along}"
        )
    if found.hops:
        lengths = ", ".join(f"{n} of {counted(hops, 'hop')}" for hops, n in found.hops.items())
        several = f"; {found.n_alternative} with alternatives" if found.n_alternative else ""
        yield f"routes     {lengths}{several}"
    for link in found.links:
        ends = f"{_node(found, link.begin)} -> {_node(found, link.end)}"
        yield f"link       {ends:<26}{bytes_text(link.bytes):>12}, at least {ms_text(link.seconds)}"
    yield from (f"wrong      {sentence}" for sentence in found.wrong)
    if not found.wrong:
        yield "wrong      nothing was found"


def _node(found: "Inspection", node: int) -> str:
    return f"server {node}" if node < found.n_server else f"switch {node - found.n_server}"
