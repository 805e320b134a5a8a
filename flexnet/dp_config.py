"""What ``flexnet dp`` was asked to do, checked."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flexnet.errors import FlexNetError
from flexnet.flag_values import FlagReader
from flexnet.flags import Given
from flexnet.graph import ModelGraph
from flexnet.models.pase import BASE, GRAPHS
from flexnet.wording import did_you_mean, one_of

__all__ = ["DpConfig", "make_dp_config"]

_MAX_DEVICES = 2**20
_MAX_BATCH = 2**31 - 1
_MAX_MODEL = 2**20


@dataclass(frozen=True, slots=True)
class DpConfig:
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


def make_dp_config(words: Sequence[str], given: Given) -> DpConfig:
    """Check graph and flags.

    Raises
    ------
    FlexNetError
        If the graph is missing or unknown, or a value is malformed or out of range.
    """
    names = tuple(GRAPHS)
    if not words:
        raise FlexNetError(f"no graph given; use flexnet dp GRAPH with {one_of(names)}")
    if len(words) > 1:
        raise FlexNetError(f"unexpected argument {words[1]!r} after {words[0]}; flexnet dp takes one graph and flags")
    if words[0] not in GRAPHS:
        raise FlexNetError(f"unknown graph {words[0]!r}; {did_you_mean(words[0], names) or f'choose {one_of(names)}'}")
    read = FlagReader(given)
    n_device = read.integer("--procs", 8, least=1, most=_MAX_DEVICES)
    batch_size = read.integer("--batch-size", 128, least=1, most=_MAX_BATCH)
    model = read.integer("--model", BASE, least=1, most=_MAX_MODEL)
    flops = read.number("--flops", 10.0, least=1e-6, most=1e9, of="TFLOP/s")
    bandwidth = read.number("--bw", 16.0, least=1e-6, most=1e9, of="GB/s")
    if not 1e-12 < flops / bandwidth < 1e12:
        raise FlexNetError(f"--flops {flops:g} and --bw {bandwidth:g} are too far apart; give TFLOP/s and GB/s")
    breadth_first = read.integer("--algo", 0, least=0, most=1) == 1
    memory = 1e9 * read.number("--memory", 8.0, least=1e-6, most=1e6, of="GB")
    output, dump = read.path("--output"), read.path("--dump-graph")
    spec = GRAPHS[words[0]]
    return DpConfig(
        graph=spec.build(batch_size, model),
        cutoff=spec.cutoff,
        n_device=n_device,
        model=model,
        flops=flops * 1e12,
        bandwidth=bandwidth * 1e9,
        breadth_first=breadth_first,
        memory=memory,
        overwrite="--pase-compat" in given,
        output=output,
        dump=dump,
        measure="--measure" in given,
        profile="--profile" in given,
    )
