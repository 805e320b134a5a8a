"""The network, drawn with its load."""

from flexnet.errors import counted
from flexnet.report.network_drawing import draw_network, drawn_block
from flexnet.report.network_values import NetworkValues
from flexnet.report.page import Bar, BarChart, Columns, Figure, Part, Row, Section, Table
from flexnet.report.values import RunValues
from flexnet.units import bytes_text

__all__ = ["network_section"]


def network_section(values: RunValues, name: str, speeds: str) -> Section:
    """Drawing, degrees, hops, and the busiest links; ``speeds`` says how fast links are."""
    network = values.network
    switches = f" and {counted(network.n_switch, 'switch')}" if network.n_switch else ""
    lead = (
        f"{name} joins {counted(network.n_server, 'server')}{switches} by {counted(network.n_link, 'link')} of "
        f"{speeds}. "
        f"A route has {network.mean_hops:.2f} hops on average, and what servers forward for others makes traffic "
        f"{network.tax:.2f} times what they have to send (bandwidth tax)."
    )
    drawn: list[Figure] = []
    if len(network.ends):
        block = drawn_block(network)
        caption = "Servers and links; the wider a line, the busier its link"
        if block > 1:
            caption += f" (a dot stands for {block} servers, a line for all links between two dots)"
        drawn.append(
            Figure(caption, draw_network(network, "network-drawing", _words(network)), _legend(network), 0, 680)
        )
    told: list[BarChart | Table] = [
        _histogram("Links of a server", [(counted(d, "link"), n, counted(n, "server")) for d, n in network.degrees]),
        _histogram(
            "Hops from server to server, and transfers over them",
            [(counted(h, "hop"), n, f"{n} pairs, {bytes_text(sent)}") for h, n, sent in network.hops],
        ),
    ]
    if network.busiest:
        rows = tuple(
            Row(
                (
                    f"{_node(network, link.begin)} to {_node(network, link.end)}",
                    bytes_text(link.bytes),
                    f"{100 * link.utilisation:.1f} %",
                )
            )
            for link in network.busiest
        )
        told.append(Table("The busiest links", ("link", "carries", "busy"), rows, numeric=(1, 2)))
    columns = (tuple(drawn), tuple(told)) if drawn else (tuple(told),)
    return Section("network", "The network", lead, (Columns(columns),))


def _words(network: NetworkValues) -> str:
    """What a screen reader says of the drawing."""
    where = "on a circle" if not network.n_switch else "in a row below switches"
    busiest = f"; the busiest link takes {100 * network.load.max():.0f} % of the iteration" if len(network.load) else ""
    return (
        f"{counted(network.n_server, 'server')} {where}, {counted(network.n_link, 'link')}, "
        f"{counted(network.n_ring, 'ring')} for all-reduces{busiest}."
    )


def _legend(network: NetworkValues) -> tuple[tuple[str, str], ...]:
    """The colours that are there: rings, and links of no ring that is drawn."""
    entries, drawn = list[tuple[str, str]](), set[frozenset[int]]()
    for i, ring in enumerate(network.rings):  # a link that is in two is drawn as of the first
        servers = [int(server) for server in ring]
        links = {frozenset(ends) for ends in zip(servers, (*servers[1:], servers[0]), strict=True)}
        also = ", over links of the others" if links <= drawn else ""
        entries.append((f"ring{i}", f"ring {i + 1} of {counted(len(ring), 'server')}{also}"))
        drawn |= links
    more = network.n_ring - len(network.rings)
    rest = "links for pairs of servers" if not more else f"links for pairs, and of {more} more rings"
    return (*entries, ("link", rest if entries else "links"))


def _histogram(caption: str, counts: list[tuple[str, int, str]]) -> BarChart:
    most = max((n for _, n, _ in counts), default=1)
    return BarChart(caption, tuple(Bar(label, text, (Part(n / most, "link"),)) for label, n, text in counts))


def _node(network: NetworkValues, node: int) -> str:
    return f"server {node}" if node < network.n_server else f"switch {node - network.n_server}"
