"""What ``flexnet dp`` is asked to do: its flags, and the graph and SI units they become, once."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexnet.commands.requests.flags import Flag, switch
from flexnet.commands.requests.model_flags import find_model, is_model_file
from flexnet.commands.requests.types import FilePath, Number, Whole
from flexnet.errors import FlexNetError, did_you_mean, one_of
from flexnet.model.graph import ModelGraph
from flexnet.model.zoo.pase import BASE, GRAPHS

__all__ = ["DP_FLAGS", "DpRequest", "dp_request"]

DP_FLAGS = [
    Flag(
        ["procs", "--procs", "-p"],
        type=Whole(1, 2**20),
        default=8,
        metavar="N",
        help="devices (default 8); an operator is cut into at most as many parts",
    ),
    Flag(
        ["batch_size", "--batch-size", "-b", "--batch"],
        type=Whole(1, 2**31 - 1),
        default=128,
        metavar="N",
        help="samples of the global batch (default 128)",
    ),
    Flag(
        ["model", "--model", "-m"],
        type=Whole(1, 2**20),
        default=BASE,
        metavar="N",
        help="model size: all widths times N/128 (default 128, the published size)",
    ),
    Flag(
        ["flops", "--flops"],
        type=Number(1e-6, 1e9, "TFLOP/s"),
        default=10.0,
        metavar="TFLOPS",
        help="speed of a device (default 10)",
    ),
    Flag(
        ["bw", "--bw"],
        type=Number(1e-6, 1e9, "GB/s"),
        default=16.0,
        metavar="GB/S",
        help="bandwidth of a link in GB/s (default 16)",
    ),
    Flag(
        ["algo", "--algo"],
        type=Whole(0, 1),
        default=0,
        metavar="0|1",
        help="elimination order: 0 the best found (default), 1 breadth first; exact both",
    ),
    Flag(
        ["memory", "--memory"],
        type=Number(1e-6, 1e6, "GB"),
        default=8.0,
        metavar="GB",
        help="memory that tables may take (default 8)",
    ),
    switch(
        "pase_compat", "--pase-compat", "of tensors between the same two operators only the last counts, as in PaSE"
    ),
    Flag(["output", "--output", "-o"], type=FilePath(), metavar="FILE", help="write cost and configurations as JSON"),
    Flag(
        ["dump_graph", "--dump-graph", "-d"],
        type=FilePath(),
        metavar="FILE",
        help="write the graph with configurations and costs, for Graphviz",
    ),
    switch("measure", "--measure", "solve twice to warm up and five times more, and tell how long it takes"),
    switch("profile", "--profile", "tell which functions the solver spends its time in"),
]


@dataclass(frozen=True, slots=True)
class DpRequest:
    """A dynamic program to solve.

    Parameters
    ----------
    graph : ModelGraph
    cutoff : int
        Least size of a part along a dimension that is cut.
    n_device : int
    model : int
        Model size, 128 for the published one.
    flops : float
        FLOP/s of a device.
    bandwidth : float
        Bytes/s of a link.
    breadth_first : bool
        Eliminate breadth first instead of in the best order found.
    memory : float
        Bytes that tables may take.
    overwrite : bool
        Of tensors between the same two operators only the last counts.
    output, dump : Path or None
        JSON and Graphviz files to write.
    measure, profile : bool
    """

    graph: ModelGraph
    cutoff: int
    n_device: int
    model: int
    flops: float
    bandwidth: float
    breadth_first: bool
    memory: float
    overwrite: bool
    output: Path | None
    dump: Path | None
    measure: bool
    profile: bool


def dp_request(words: Sequence[str], values: dict[str, Any]) -> DpRequest:
    """Make a graph and SI units of what was asked.

    Parameters
    ----------
    words : sequence of str
        The graph, and what is too much.
    values : dict
        Of the flags, by name.

    Raises
    ------
    FlexNetError
        If the graph is missing or unknown, or flags contradict each other.
    """
    names = tuple(GRAPHS)
    if not words:
        raise FlexNetError(f"no graph given; use flexnet dp GRAPH with {one_of(names)}")
    if len(words) > 1:
        raise FlexNetError(f"unexpected argument {words[1]!r} after {words[0]}; flexnet dp takes one graph and flags")
    if words[0] not in GRAPHS and not is_model_file(words[0]):
        raise FlexNetError(f"unknown graph {words[0]!r}; {did_you_mean(words[0], names) or f'choose {one_of(names)}'}")
    flops, bandwidth = values["flops"], values["bw"]
    if not 1e-12 < flops / bandwidth < 1e12:
        raise FlexNetError(f"--flops {flops:g} and --bw {bandwidth:g} are too far apart; give TFLOP/s and GB/s")
    spec = GRAPHS.get(words[0])
    return DpRequest(
        graph=find_model(words[0]).build({}, values["batch_size"])
        if spec is None
        else spec.build(values["batch_size"], values["model"]),
        cutoff=1 if spec is None else spec.cutoff,
        n_device=values["procs"],
        model=values["model"],
        flops=flops * 1e12,
        bandwidth=bandwidth * 1e9,
        breadth_first=values["algo"] == 1,
        memory=1e9 * values["memory"],
        overwrite=values["pase_compat"],
        output=values["output"],
        dump=values["dump_graph"],
        measure=values["measure"],
        profile=values["profile"],
    )
