"""Draws what FlexNetPacket does and what replays make of it, fact by fact: docs/replay.png.

    python benchmarks/replay_figure.py --data DIR

DIR holds ``micro/``.  Needs the extra ``report``.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from replay_accuracy import fair, scenarios

from flexnet.published.experiments import Experiment, micro_experiments, replayed
from flexnet.simulate.protocol import FLUID, PACKET

FIGURE = Path(__file__).parents[1] / "docs" / "replay.png"
Params = Mapping[str, Any]
Point = tuple[float, float]
Ends = Mapping[int, float]


def packet_ms(one: Experiment) -> float:
    return PACKET.packet_bytes * 8 / one.gbps / 1e6


def n_packet(n_byte: float) -> int:
    return max(1, -(-int(n_byte - 1) // int(PACKET.packet_bytes)))


def rounds(params: Params) -> int:
    return 2 * (int(params["k"]) - 1)


def alone(one: Experiment, params: Params, ends: Ends) -> Iterator[Point]:
    yield n_packet(params["round_bytes"]), max(ends.values()) / rounds(params) / packet_ms(one)


def in_line(one: Experiment, params: Params, ends: Ends) -> Iterator[Point]:
    for i, end in enumerate(sorted(ends.values()), 1):
        yield i * n_packet(params["bytes"]), end / packet_ms(one)


def small_ring(one: Experiment, params: Params, ends: Ends) -> Iterator[Point]:
    yield params["bytes"] / 1e3, max(ends.values()) * 1e3


def beside(one: Experiment, params: Params, ends: Ends) -> Iterator[Point]:
    if params["n"] == 1 and len(params["at"]) == 1 and one.latency_ns == 1000:
        n = n_packet(params["round_bytes"])
        ring = rounds(params) * (n * packet_ms(one) + 2 * one.latency_ns / 1e6)
        yield n, ends[min(ends)] / ring


def hops(one: Experiment, params: Params, ends: Ends) -> Iterator[Point]:
    if params["n_long"] == params["m_short"] == 1 and params["bytes"] == params["bytes_long"]:
        n = n_packet(params["bytes"])
        yield n, ends[min(ends) + 1] / (2 * n * packet_ms(one))


def timers(one: Experiment, params: Params, ends: Ends) -> Iterator[Point]:
    n = n_packet(params["bytes"])
    yield params["n"] * min(n, 100) * packet_ms(one), max(ends.values()) / (params["n"] * n * packet_ms(one))


def turns(one: Experiment, params: Params, ends: Ends) -> Iterator[Point]:
    small, large = (n_packet(each) for each in params["round_bytes"])
    if small == large:
        yield small, min(ends.values()) / rounds(params) / packet_ms(one) / (2 * small)


def scale(one: Experiment, params: Params, ends: Ends) -> Iterator[Point]:
    shape = params["k"], params["h"], params["n"], len(params["at"]), n_packet(params["round_bytes"])
    if shape == (8, 1, 1, 1, n_packet(16e6)) and one.latency_ns == 1000:
        yield one.gbps, ends[min(ends)] / packet_ms(one) / 1e3


Make = Callable[[Experiment, Params, Ends], Iterator[Point]]
PANELS: list[tuple[str, str, str, str, Make, bool]] = [
    ("alone", "A ring alone", "packets a round", "packet times a round", alone, True),
    ("small_many_same_link", "Small flows go first in, first out", "packets up to its last", "end, packet times",
     in_line, True),
    ("small_allreduce", "A small all-reduce runs one round", "kB", "end, µs", small_ring, False),
    ("ring_vs_transfer", "A ring beside a transfer", "packets a round", "times as long as alone", beside, True),
    ("parking", "One hop against several hops", "packets of a flow", "end of the one-hop flow over equal shares", hops,
     True),
    ("timeout_same_link", "Timers", "ms that first windows wait", "last end over the link's time", timers, True),
    ("two_rings", "Two equal rings", "packets a round", "first end over the link's time", turns, True),
    ("ring_vs_transfer", "Times scale with the packet time", "Gbps", "end of the ring, 1000 packet times", scale, True),
]  # fmt: skip
"""Kind of experiment, title, axes, points of an experiment, logarithmic x."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    import matplotlib as mpl
    from matplotlib.figure import Figure

    known, experiments = scenarios(data), list(micro_experiments(data))
    models: dict[str, tuple[Callable[[Experiment], Ends], dict[str, Any]]] = {
        "FlexNetPacket": (lambda one: one.ends_ms, {"marker": "o", "s": 34, "facecolors": "none", "edgecolors": "k"}),
        "every packet": (ends_by(replayed), {"marker": "x", "s": 16, "color": "#0072b2"}),
        "fair sharing": (ends_by(fair(PACKET)), {"marker": "^", "s": 9, "color": "#d55e00"}),
        "fluid": (ends_by(fair(FLUID)), {"marker": ".", "s": 14, "color": "#009e73"}),
    }
    with mpl.rc_context({"font.size": 8, "axes.axisbelow": True, "axes.grid": True, "grid.alpha": 0.3}):
        figure = Figure(figsize=(13, 5.6), layout="constrained")
        for axes, (kind, title, x, y, make, log) in zip(figure.subplots(2, 4).ravel(), PANELS, strict=True):
            some = [one for one in experiments if known[one.name]["kind"] == kind]
            for label, (ends, style) in models.items():
                points = [point for one in some for point in make(one, known[one.name]["params"], ends(one))]
                axes.scatter(*zip(*points, strict=True), label=label, linewidths=0.9, **style)
            axes.set(title=title, xlabel=x, ylabel=y, xscale="log" if log else "linear")
            if make in (alone, in_line):
                axes.set_yscale("log")
                axes.yaxis.set(major_formatter="{x:g}", minor_formatter="")
            axes.xaxis.set(major_formatter="{x:g}", minor_formatter="")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(models), frameon=False)
        figure.savefig(FIGURE, dpi=100)
    print(f"wrote {FIGURE}")


def ends_by(replay: Callable[[Experiment], Any]) -> Callable[[Experiment], Ends]:
    """Ends of those tasks that FlexNetPacket tells, ms."""

    def ends(one: Experiment) -> Ends:
        at = {int(task): row for row, task in enumerate(one.file.tasks.id)}
        end = replay(one).timeline.end
        return {task: float(end[at[task]]) * 1e3 for task in one.ends_ms}

    return ends


if __name__ == "__main__":
    main()
