"""What a command was asked to do, checked: flags in the user's units become frozen dataclasses in SI units."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flexnet.choices import NETWORKS, STARTS, TOPOLOGIES
from flexnet.cluster import Cluster
from flexnet.errors import FlexNetError
from flexnet.flag_values import INTEGER, FlagReader
from flexnet.flags import SEARCH, Given
from flexnet.graph import ModelGraph
from flexnet.machine import GPUS
from flexnet.models import MODELS
from flexnet.parts import Cuts
from flexnet.semantics import PRESETS, Semantics
from flexnet.wording import one_of

if TYPE_CHECKING:  # heavy: only after all flags are read
    from flexnet.search.find import Settings

__all__ = [
    "DEVICE_NAMES",
    "DTYPE_NAMES",
    "GPU_NAMES",
    "ProfileConfig",
    "RunConfig",
    "make_profile_config",
    "make_run_config",
]

GPU_NAMES = tuple(sorted(GPUS))
DEVICE_NAMES = ("cuda", "cpu", "analytic")
DTYPE_NAMES = ("fp32", "tf32", "bf16", "fp16")

_MAX_COUNT = 2**31 - 1  # batch sizes and counts are 32-bit in measurement files
_MAX_SERVERS = 4096  # routes of all pairs are held in memory
_MAX_BUDGET = 10**12  # eleven days of a million proposals a second
_MAX_INTEGER = 2**63 - 1
_MAX_ELEMENTS = 2**50  # of an operator's tensors: what they and their bytes sum up to stays exact
_MAX_REPEATS = 10_000  # layers or tables: more operators than any search gets through
_FILES = ("--mfile", "--import", "--export", "--taskgraph", "--output")


@dataclass(frozen=True, slots=True)
class RunConfig:
    """A search to run.

    Parameters
    ----------
    graph : ModelGraph
    model_flags : Mapping[str, str]
        Model flags that were given, as text.
    cluster : Cluster
    settings : Settings
    semantics : Semantics
    gpu : str or None
        GPU to estimate times for; None if there is a measurement file.
    mfile, start, export, taskgraph, output : Path or None
        Measurement file, starting strategy, files to write, and the directory for all outputs.
    overwrite : bool
        Replace the run that the directory holds.
    arguments : tuple of str
        Model and flags that make this config again, with absolute paths.
    warnings : tuple of str
        Sentences on flags that do nothing.
    """

    graph: ModelGraph
    model_flags: Mapping[str, str]
    cluster: Cluster
    settings: "Settings"
    semantics: Semantics
    gpu: str | None
    mfile: Path | None
    start: Path | None
    export: Path | None
    taskgraph: Path | None
    output: Path | None
    overwrite: bool
    arguments: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProfileConfig:
    """A profile to make; fields as in `RunConfig`, and these.

    Parameters
    ----------
    cuts : Cuts
        Which configs.
    device : str
        ``cuda``, ``cpu`` or ``analytic``.
    dtype : str
        ``fp32``, ``tf32``, ``bf16`` or ``fp16``.
    time_cap : float
        Seconds a pass of a config is repeated at most.
    resume : bool
        Go on with an interrupted profile if there is one.
    """

    graph: ModelGraph
    model_flags: Mapping[str, str]
    cuts: Cuts
    device: str
    gpu: str
    dtype: str
    time_cap: float
    resume: bool
    output: Path
    warnings: tuple[str, ...]


def make_run_config(model: str, given: Given, model_given: Given) -> RunConfig:
    """Check the flags of a search.

    Parameters
    ----------
    model : str
        Name in `flexnet.models.MODELS`.
    given, model_given : Given
        Flags of the command and of the model, as text.

    Raises
    ------
    FlexNetError
        If a value is malformed or out of range, or flags contradict each other.
    """
    read = FlagReader(given)
    if "--topology" not in given:
        raise FlexNetError(f"--topology is missing; choose {one_of(TOPOLOGIES)}")
    topology = read.name("--topology", TOPOLOGIES)
    semantics = PRESETS[read.name("--semantics", tuple(PRESETS), "corrected")]
    cluster = Cluster(
        n_server=read.integer("--nsimnode", 1, least=1, most=_MAX_SERVERS),
        big_gpu=read.integer("--big-gpu", 0, least=0, most=1024),
        latency=read.latency(0.0),
        degree=read.integer("--node-degree", 4, least=1, most=1024),
        **read.bandwidths(),
    )
    if topology in ("topoopt", "random") and cluster.degree > cluster.n_server:
        raise FlexNetError(
            f"--node-degree is {cluster.degree} and --nsimnode is {cluster.n_server}; "
            f"a {topology} network needs at least as many servers as interfaces of a server"
        )
    batch_size = read.integer("--batch-size", 64, least=1, most=_MAX_COUNT)
    if "--gpu" in given and "--mfile" in given:
        raise FlexNetError("--gpu and --mfile exclude each other: times are either estimated for a GPU or measured")
    mfile = read.path("--mfile")
    gpu = None if mfile is not None else read.name("--gpu", GPU_NAMES, "a100")
    _check_divides(batch_size, cluster, measured=mfile is not None)
    memory_gb = read.number("--gpu-memory", None, least=1e-9, most=1e9, of="GB")
    values = {
        "topology": topology,
        "budget": read.integer("--search-budget", 0, least=0, most=_MAX_BUDGET),
        "alpha": read.number("--search-alpha", 1.0, least=0.0, most=1e12, of="1/ms"),
        "seed": read.integer("--seed", 0, least=0, most=_MAX_INTEGER),
        "strided": read.integer("--net-opt", 0, least=0, most=1) == 1,
        "propagation": "--enable-propagation" in given,
        "parameter_parallel": "--enable-parameter-parallel" in given,
        "segment_bytes": read.segment_bytes(),
        "start": read.name("--start", STARTS, "data"),
        "gpu_memory": None if memory_gb is None else memory_gb * 1e9,
        "network": read.name("--network", NETWORKS, "fast"),
    }
    if values["network"] == "fair" and not semantics.fair_links:
        raise FlexNetError("--network fair needs --semantics corrected; the original's links are first in, first out")
    warnings = [*_unused_model_flags(model, model_given)]
    if values["segment_bytes"] and semantics.fair_links:
        warnings.append("--segment-bytes has no effect with corrected semantics; use --semantics original")
    if memory_gb is not None and not semantics.limit_memory:
        warnings.append("--gpu-memory has no effect with original semantics; use --semantics corrected")
    if "--start" in given and "--import" in given:
        raise FlexNetError("--start and --import exclude each other: a search starts from one of them")
    start, export, taskgraph, output = map(read.path, ("--import", "--export", "--taskgraph", "--output"))
    if "--search-budget" not in given:
        warnings.append("--search-budget is not given, so one proposal is made; --search-budget N makes N + 1")
    if (export, taskgraph, output) == (None, None, None):
        warnings.append("the plan will be printed and not kept; -o DIR keeps it")
    if "--overwrite" in given and output is None:
        warnings.append("--overwrite has no effect without -o DIR")
    graph = _graph(model, model_given, batch_size)

    from flexnet.search.find import Settings

    return RunConfig(
        graph=graph,
        model_flags=dict(model_given),
        cluster=cluster,
        settings=Settings(**values),
        semantics=semantics,
        gpu=gpu,
        mfile=mfile,
        start=start,
        export=export,
        taskgraph=taskgraph,
        output=output,
        overwrite="--overwrite" in given,
        arguments=_arguments(model, given, model_given),
        warnings=tuple(warnings),
    )


def make_profile_config(model: str, given: Given, model_given: Given) -> ProfileConfig:
    """Check the flags of a profile; see `make_run_config`.

    Raises
    ------
    FlexNetError
        If a value is malformed or out of range, or no file is named and the default one is there.
    """
    read = FlagReader(given)
    device = read.name("--device", DEVICE_NAMES, "cuda")
    batch_size = read.integer("--batch-size", 64, least=1, most=_MAX_COUNT)
    n_server = read.integer("--nsimnode", 1, least=1, most=_MAX_SERVERS)
    has_limit = "--max-localsz" in given
    cuts = Cuts(
        n_server=n_server,
        big_gpu=read.integer("--big-gpu", 0, least=0, most=1024),
        parameter_parallel="--enable-parameter-parallel" in given,
        attribute_parallel="--enable-attribute-parallel" in given,
        max_local=read.integer("--max-localsz", 1, least=1, most=_MAX_COUNT) if has_limit else None,
    )
    other = ("--dtype", "--time-cap", "--resume") if device == "analytic" else ("--gpu",)
    warnings = [f"{flag} has no effect with --device {device}" for flag in other if flag in given]
    return ProfileConfig(
        graph=_graph(model, model_given, batch_size),
        model_flags=dict(model_given),
        cuts=cuts,
        device=device,
        gpu=read.name("--gpu", GPU_NAMES, "a100"),
        dtype=read.name("--dtype", DTYPE_NAMES, "fp32"),
        time_cap=read.number("--time-cap", 0.2, least=1e-6, most=86400.0, of="seconds"),
        resume="--resume" in given,
        output=read.path("--output") or _default_output(batch_size, n_server),
        warnings=(*warnings, *_unused_model_flags(model, model_given)),
    )


def _default_output(batch_size: int, n_server: int) -> Path:
    """The name the original gives a measurement file: profiles of several models may share it."""
    path = Path(f"measure_{batch_size}_{n_server}.json")
    if path.exists():
        raise FlexNetError(f"{path} is there already; name a file with -o, the same one if it is to be replaced")
    return path


def _check_divides(batch_size: int, cluster: Cluster, *, measured: bool) -> None:
    """Refuse what no data-parallel start can be made of, before anything is read or estimated."""
    gpus = 1 if measured else cluster.gpus
    if batch_size % (cluster.n_server * gpus):
        over = f"{cluster.n_server} servers" + (f" of {gpus} GPUs" if gpus > 1 else "")
        raise FlexNetError(
            f"--batch-size {batch_size} does not divide evenly over {over}; "
            f"it must be a multiple of {cluster.n_server * gpus}"
        )


def _graph(model: str, model_given: Given, batch_size: int) -> ModelGraph:
    """Build a model of a size that 64-bit counts can hold."""
    for flag in ("--num-layers", "--ntables"):
        text = model_given.get(flag, "")
        if INTEGER.fullmatch(text) and int(text) > _MAX_REPEATS:
            raise FlexNetError(f'{flag} is "{text}"; it must be a whole number from 1 to {_MAX_REPEATS}')
    graph = MODELS[model].build(model_given, batch_size)
    for op in graph.operators:
        elements = sum(tensor.volume for tensor in (*(source.tensor for source in op.inputs), *op.outputs, *op.weights))
        if elements > _MAX_ELEMENTS:
            raise FlexNetError(
                f"operator {op.name} of model {model} has {elements:.1e} elements; it must have fewer than 1e15: "
                "check --batch-size and the flags of the model"
            )
    return graph


def _unused_model_flags(model: str, model_given: Given) -> list[str]:
    unused = {flag.name: flag.help for flag in MODELS[model].flags if not flag.effective}
    return [f"{name} has no effect: {unused[name]}" for name in model_given if name in unused]


def _arguments(model: str, given: Given, model_given: Given) -> tuple[str, ...]:
    """Model and flags of a run that is to be resumed, whatever the working directory then."""
    words = [model]
    switches = {option.names[0] for option in SEARCH if option.value is None}
    for flag, text in {**given, **model_given}.items():
        if flag in ("--resume", "--output", "--overwrite"):
            continue
        if flag in switches:
            words.append(flag)
        else:
            words += [flag, str(Path(text).absolute()) if flag in _FILES else text]
    return tuple(words)
