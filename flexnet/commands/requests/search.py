"""What ``flexnet search`` was asked to do: flags in the user's units become domain objects in SI units, once."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexnet.commands.requests.flags import Given
from flexnet.commands.requests.limits import check_divides
from flexnet.commands.requests.model_command import Asked
from flexnet.commands.requests.model_flags import (
    built_model,
    from_anywhere,
    is_model_file,
    toy_model,
    unused_model_flags,
)
from flexnet.commands.requests.search_network import drawn_network, named_network
from flexnet.commands.requests.types import AUTO
from flexnet.cost.gpus import GPUS
from flexnet.errors import FlexNetError, one_of
from flexnet.model.cutting import divisors
from flexnet.model.graph import ModelGraph
from flexnet.model.operators import kind_of
from flexnet.plan.cluster import Cluster
from flexnet.plan.semantics import PRESETS, Semantics
from flexnet.search.settings import Settings, method_of
from flexnet.simulate.protocol import PROTOCOLS

if TYPE_CHECKING:
    from flexnet.network.topology import Topology

__all__ = ["SearchRequest", "search_request"]

_FILES = ("--mfile", "--import", "--warm-start", "--export", "--taskgraph", "--output")


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search to run.

    Parameters
    ----------
    graph : ModelGraph
    model_flags : Given
        Model flags that were given, as text.
    cluster : Cluster
    settings : Settings
    semantics : Semantics
    gpu : str or None
        GPU to estimate times for; None if there is a measurement file, and whatever that says it was measured on is
        to estimate what it lacks.
    every_cut : bool
        Whether operators may be cut in ways that are not measured.
    dtype : str or None
        Arithmetic to estimate for; None for that of the model.
    optimizer : str
        A name in `flexnet.plan.optimizers.OPTIMIZERS`.
    micro_batches : int
        How many; the graph is of one.
    tensor_parallel : int
        GPUs of a group, which share more of a part than samples; 1 for none.
    memory_open : bool
        Whether the memory of a GPU is limited to what the measurement file says it has.
    mfile, start, known, drawing, model_file, export, taskgraph, output : Path or None
        Measurement file, starting strategy, one to begin with beside others, files of the topology and of the model,
        files to write, and the directory for all outputs.
    overwrite : bool
        Replace the run that the directory holds.
    report : bool
        Whether a page is written to the directory.
    as_json : bool
        Whether what was found is printed as JSON.
    arguments : tuple of str
        Model and flags that ask for this again, with absolute paths.
    warnings : tuple of str
        Sentences on flags that do nothing.
    """

    graph: ModelGraph
    model_flags: Given
    cluster: Cluster
    settings: Settings
    semantics: Semantics
    gpu: str | None
    dtype: str | None
    every_cut: bool
    optimizer: str
    micro_batches: int
    tensor_parallel: int
    memory_open: bool
    mfile: Path | None
    start: Path | None
    known: Path | None
    drawing: Path | None
    model_file: Path | None
    export: Path | None
    taskgraph: Path | None
    output: Path | None
    overwrite: bool
    report: bool
    as_json: bool
    arguments: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def groups(self) -> int:
        """Groups of a server's GPUs; 0 where a server is one GPU."""
        return self.cluster.big_gpu // self.tensor_parallel

    @property
    def gpus_by_samples(self) -> int:
        """GPUs of a server that share its samples where times are known: all, or if these are too few its groups."""
        gpus, servers = self.cluster.big_gpu, 1 if self.micro_batches > 1 else self.cluster.n_server
        if self.mfile is not None or self.tensor_parallel == 1:
            return gpus
        cut = (op for op in self.graph.operators if not kind_of(op).whole)
        batches = {tensor.dims[-1] for op in cut for tensor in (*op.outputs, *(one.tensor for one in op.inputs))}
        return self.groups if any(batch % (servers * gpus) for batch in batches) else gpus

    @property
    def inputs(self) -> dict[str, Path]:
        """Files that are read, by flag."""
        files = {
            "MODEL": self.model_file,
            "--mfile": self.mfile,
            "--import": self.start,
            "--warm-start": self.known,
            "--topology": self.drawing,
        }
        return {flag: path for flag, path in files.items() if path is not None}


def search_request(asked: Asked) -> SearchRequest:
    """Make domain objects of what was asked, and refuse what contradicts itself.

    Raises
    ------
    FlexNetError
        If something is missing or out of range, flags contradict each other, or a drawn topology cannot be read.
    """
    values, given = asked.values, asked.given
    assert asked.model is not None
    if AUTO in (values["micro_batches"], values["tensor_parallel"]):
        raise FlexNetError(
            "--micro-batches auto and --tensor-parallel auto are for a search that begins; name numbers here"
        )
    drawing = values["topology"] if isinstance(values["topology"], Path) else None
    topology: str | Topology
    if drawing is None:
        topology, parameters, cluster = named_network(values, given)
    else:
        topology, cluster = drawn_network(values, given)
        parameters = {}
    gpu = values["gpu"] or (None if values["mfile"] is not None else "a100")
    semantics = PRESETS[values["semantics"]]
    if values["bucket_mb"]:
        _check_buckets(values["protocol"], semantics)
    settings = _settings(topology, parameters, values, gpu if semantics.limit_memory else None)
    every_cut = _every_cut(values["cuts"], semantics)
    if values["gpu"] is not None and values["mfile"] is not None and not every_cut:
        raise FlexNetError("--gpu and --mfile exclude each other: times are either estimated for a GPU or measured")
    if values["dtype"] is not None and values["mfile"] is not None:
        raise FlexNetError("--dtype and --mfile exclude each other: a measurement file says of what arithmetic it is")
    measured = values["mfile"] is not None
    _check_groups(values["tensor_parallel"], cluster, semantics)
    micro_batch = check_divides(
        values["batch_size"],
        cluster.n_server,
        1 if measured else max(cluster.gpus // values["tensor_parallel"], 1),
        micro_batches=values["micro_batches"],
    )
    if values["protocol"] != "flexnetpacket" and not semantics.fair_links:
        raise FlexNetError("--protocol needs --semantics corrected; the original's links are first in, first out")
    if values["network"] == "fair" and not semantics.fair_links:
        raise FlexNetError("--network fair needs --semantics corrected; the original's links are first in, first out")
    if values["semantics"] == "original" and values["method"] == "portfolio":
        raise FlexNetError("--method portfolio needs --semantics corrected; with the original's, networks drift")
    if values["jobs"] > 1 and _is_mcmc(values):
        raise FlexNetError(f"--jobs {values['jobs']} needs --method portfolio; the original's method is one chain")
    if "--start" in given and values["start_file"] is not None:
        raise FlexNetError("--start and --import exclude each other: a search starts from one of them")
    graph = built_model(asked.model, asked.model_given, micro_batch)
    return SearchRequest(
        graph=graph,
        model_flags=dict(asked.model_given),
        cluster=cluster,
        settings=settings,
        semantics=semantics,
        gpu=gpu,
        dtype=values["dtype"],
        every_cut=every_cut,
        optimizer=values["optimizer"],
        micro_batches=values["micro_batches"],
        tensor_parallel=values["tensor_parallel"],
        memory_open=values["gpu_memory"] is None and gpu is None and semantics.limit_memory,
        mfile=values["mfile"],
        start=values["start_file"],
        known=values["known_file"],
        drawing=drawing,
        model_file=Path(asked.model) if is_model_file(asked.model) else None,
        export=values["export"],
        taskgraph=values["taskgraph"],
        output=values["output"],
        overwrite=values["overwrite"],
        report=not values["no_report"],
        as_json=values["as_json"],
        arguments=_arguments(asked, drawing),
        warnings=(
            *toy_model(asked.model, asked.model_given, graph),
            *unused_model_flags(asked.model, asked.model_given),
            *_warnings(values, given, semantics),
        ),
    )


def _check_groups(gpus: int, cluster: Cluster, semantics: Semantics) -> None:
    """Refuse groups of GPUs that no server has."""
    if gpus == 1:
        return
    if not semantics.shard_parameters:
        raise FlexNetError("--tensor-parallel needs --semantics corrected; the original knows cuts of the batch alone")
    if cluster.gpus % gpus:
        raise FlexNetError(
            f"--tensor-parallel {gpus} does not divide the GPUs of a server, {cluster.gpus} (--big-gpu); "
            f"it must be {one_of([str(n) for n in divisors(cluster.gpus, cluster.gpus)])}"
        )


def _check_buckets(protocol: str, semantics: Semantics) -> None:
    """Refuse buckets where small all-reduces are cut short, or reduced one by one."""
    if not semantics.fair_links:
        raise FlexNetError("--bucket-mb needs --semantics corrected; the original reduces weights one by one")
    if PROTOCOLS[protocol].small_packet_bytes > 0:
        others = [name for name, of in PROTOCOLS.items() if not of.small_packet_bytes]
        raise FlexNetError(
            f"--bucket-mb needs --protocol {one_of(others)}; {protocol} cuts small all-reduces short, which would be "
            "small no more"
        )


def _every_cut(cuts: str | None, semantics: Semantics) -> bool:
    """Whether operators may be cut in ways that are not measured: unless said otherwise, if shards are understood."""
    if cuts == "all" and not semantics.shard_parameters:
        raise FlexNetError("--cuts all needs --semantics corrected; the original knows cuts of the batch alone")
    return semantics.shard_parameters and cuts != "measured"


def _settings(
    topology: "str | Topology", parameters: dict[str, Any], values: dict[str, Any], gpu: str | None
) -> Settings:
    memory = GPUS[gpu].memory_bytes if gpu is not None else float("inf")
    if values["gpu_memory"] is not None:
        memory = values["gpu_memory"] * 1e9
    return Settings(
        topology=topology,
        topology_parameters=parameters or None,
        budget=_budget(values),
        time=values["time"],
        method=values["method"],
        jobs=values["jobs"],
        alpha=values["search_alpha"],
        seed=values["seed"],
        strided=values["net_opt"] == 1,
        propagation=values["enable_propagation"],
        parameter_parallel=values["enable_parameter_parallel"],
        segment_bytes=values["segment_bytes"],
        gpu_memory=None if memory == float("inf") else memory,
        start=values["start"],
        network=values["network"],
        protocol=values["protocol"],
        reductions=values["reductions"],
        bucket_bytes=None if values["bucket_mb"] is None else values["bucket_mb"] * 1e6,
    )


def _is_mcmc(values: dict[str, Any]) -> bool:
    """Whether the original's chain is meant."""
    return method_of(values["method"], PRESETS[values["semantics"]]) == "mcmc"


def _budget(values: dict[str, Any]) -> int | None:
    """Proposals; without a number, one by the original's method, and as many as bring something in a portfolio."""
    budget: int | None = values["search_budget"]
    return 0 if budget is None and values["time"] is None and _is_mcmc(values) else budget


def _warnings(values: dict[str, Any], given: Given, semantics: Semantics) -> list[str]:
    """Sentences on flags that do nothing, or are missed."""
    warnings = []
    if values["segment_bytes"] and semantics.fair_links:
        warnings.append("--segment-bytes has no effect with corrected semantics; use --semantics original")
    if values["gpu_memory"] is not None and not semantics.limit_memory:
        warnings.append("--gpu-memory has no effect with original semantics; use --semantics corrected")
    if "--reductions" in given and _is_mcmc(values):
        warnings.append("--reductions has no effect with method mcmc, whose all-reduces start at once")
    for flag in ("--search-alpha", "--enable-propagation"):
        if flag in given and not _is_mcmc(values):
            warnings.append(f"{flag} has no effect with method portfolio; it is for --method mcmc")
    if "--search-budget" not in given and values["time"] is None and _is_mcmc(values):
        warnings.append("--search-budget is not given, so one proposal is made; --search-budget N makes N + 1")
    if (values["export"], values["taskgraph"], values["output"]) == (None, None, None):
        warnings.append("the plan will be printed and not kept; -o DIR keeps it")
    for flag in ("--overwrite", "--no-report"):
        if flag in given and values["output"] is None and values["resume"] is None:
            warnings.append(f"{flag} has no effect without -o DIR")
    return warnings


def _arguments(asked: Asked, drawing: Path | None) -> tuple[str, ...]:
    """Model and flags of a run that is to be resumed, whatever the working directory then."""
    assert asked.model is not None
    words = [from_anywhere(asked.model)]
    for flag, text in {**asked.given, **asked.model_given}.items():
        if flag in ("--resume", "--output", "--overwrite", "--no-report", "--json"):
            continue
        words.append(flag)
        if flag in _FILES or (flag == "--topology" and drawing is not None):
            words.append(str(Path(text).absolute()))
        elif text:
            words.append(text)
    return tuple(words)
