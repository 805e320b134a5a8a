"""What ``flexnet dp`` was asked to do: flags become a graph and SI units, once."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexnet.errors import FlexNetError, did_you_mean, one_of
from flexnet.model.graph import ModelGraph
from flexnet.model.zoo.pase import GRAPHS

__all__ = ["DpRequest", "dp_request"]


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
    if words[0] not in GRAPHS:
        raise FlexNetError(f"unknown graph {words[0]!r}; {did_you_mean(words[0], names) or f'choose {one_of(names)}'}")
    flops, bandwidth = values["flops"], values["bw"]
    if not 1e-12 < flops / bandwidth < 1e12:
        raise FlexNetError(f"--flops {flops:g} and --bw {bandwidth:g} are too far apart; give TFLOP/s and GB/s")
    spec = GRAPHS[words[0]]
    return DpRequest(
        graph=spec.build(values["batch_size"], values["model"]),
        cutoff=spec.cutoff,
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
