"""What a command was asked to do, checked: flags in the user's units become frozen dataclasses in SI units."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from flexnet.cluster import Cluster
from flexnet.errors import FlexNetError
from flexnet.flags import SEARCH, Given
from flexnet.graph import ModelGraph
from flexnet.models import MODELS
from flexnet.semantics import PRESETS, Semantics
from flexnet.units import gbps_to_bytes_per_s, us_to_s

if TYPE_CHECKING:  # heavy: only after all flags are read
    from flexnet.search.find import Settings

__all__ = ["GPU_NAMES", "ProfileConfig", "Reader", "RunConfig", "make_profile_config", "make_run_config"]

GPU_NAMES = ("a100", "h100", "h200", "v100")
TOPOLOGY_NAMES = ("topoopt", "fattree", "random", "fc")
NETWORK_NAMES = ("fast", "fair")
DEVICE_NAMES = ("cuda", "cpu", "analytic")

_MAX_COUNT = 2**31 - 1  # batch sizes and counts are 32-bit in measurement files
_MAX_SERVERS = 4096  # routes of all pairs are held in memory
_MAX_INTEGER = 2**63 - 1
_INTEGER = re.compile(r"[+-]?[0-9]{1,30}", re.ASCII)
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
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
    arguments: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProfileConfig:
    """A profile to make; fields as in `RunConfig` and `flexnet.degrees.measured_degrees`."""

    graph: ModelGraph
    model_flags: Mapping[str, str]
    n_server: int
    big_gpu: int
    gpu: str
    parameter_parallel: bool
    max_local: int | None
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
    read = Reader(given)
    if "--topology" not in given:
        raise FlexNetError(f"--topology is missing; choose {_one_of(TOPOLOGY_NAMES)}")
    topology = read.name("--topology", TOPOLOGY_NAMES)
    semantics = PRESETS[read.name("--semantics", tuple(PRESETS), "corrected")]
    cluster = Cluster(
        n_server=read.integer("--nsimnode", 1, least=1, most=_MAX_SERVERS),
        big_gpu=read.integer("--big-gpu", 0, least=0, most=1024),
        latency=us_to_s(read.number("--network-latency", 0.0, "a number of microseconds, 0 or more", least=0.0)),
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
    memory_gb = read.number("--gpu-memory", None, "a number of GB above 0", above=0.0)
    values = {
        "topology": topology,
        "budget": read.integer("--search-budget", 0, least=0, most=_MAX_INTEGER - 1),
        "alpha": read.number("--search-alpha", 1.0, "a number of 0 or more, per ms", least=0.0),
        "seed": read.integer("--seed", 0, least=0, most=_MAX_INTEGER),
        "strided": read.integer("--net-opt", 0, least=0, most=1) == 1,
        "propagation": "--enable-propagation" in given,
        "parameter_parallel": "--enable-parameter-parallel" in given,
        "segment_bytes": read.integer("--segment-bytes", 0, least=0, most=_MAX_INTEGER),
        "gpu_memory": None if memory_gb is None else memory_gb * 1e9,
        "network": read.name("--network", NETWORK_NAMES, "fast"),
    }
    if values["network"] == "fair" and not semantics.fair_links:
        raise FlexNetError("--network fair needs --semantics corrected; the original's links are first in, first out")
    warnings = [*_unused_model_flags(model, model_given)]
    if values["segment_bytes"] and semantics.fair_links:
        warnings.append("--segment-bytes has no effect with corrected semantics; use --semantics original")
    if memory_gb is not None and not semantics.limit_memory:
        warnings.append("--gpu-memory has no effect with original semantics; use --semantics corrected")
    start, export, taskgraph, output = map(read.path, ("--import", "--export", "--taskgraph", "--output"))
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
        arguments=_arguments(model, given, model_given),
        warnings=tuple(warnings),
    )


def make_profile_config(model: str, given: Given, model_given: Given) -> ProfileConfig:
    """Check the flags of a profile; see `make_run_config`.

    Raises
    ------
    FlexNetError
        If a value is malformed or out of range, or the device is not available.
    """
    read = Reader(given)
    device = read.name("--device", DEVICE_NAMES, "cuda")
    if device != "analytic":
        raise FlexNetError(
            f"--device {device} is not available yet in this version; --device analytic writes estimated times"
        )
    batch_size = read.integer("--batch-size", 64, least=1, most=_MAX_COUNT)
    n_server = read.integer("--nsimnode", 1, least=1, most=_MAX_SERVERS)
    has_limit = "--max-localsz" in given
    return ProfileConfig(
        graph=_graph(model, model_given, batch_size),
        model_flags=dict(model_given),
        n_server=n_server,
        big_gpu=read.integer("--big-gpu", 0, least=0, most=1024),
        gpu=read.name("--gpu", GPU_NAMES, "a100"),
        parameter_parallel="--enable-parameter-parallel" in given,
        max_local=read.integer("--max-localsz", 1, least=1, most=_MAX_COUNT) if has_limit else None,
        output=read.path("--output") or Path(f"measure_{batch_size}_{n_server}.json"),
        warnings=tuple(_unused_model_flags(model, model_given)),
    )


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads values of flags, or refuses them with a `FlexNetError` that says what they must be."""

    given: Given

    def integer(self, flag: str, default: int, *, least: int, most: int) -> int:
        """A whole number from ``least`` to ``most``."""
        text = self.given.get(flag)
        if text is None:
            return default
        value = int(text) if _INTEGER.fullmatch(text) else None
        if value is None or value < least:
            self._refuse(flag, "0 or 1" if (least, most) == (0, 1) else f"a whole number of {least} or more")
        if value > most:
            self._refuse(flag, "0 or 1" if (least, most) == (0, 1) else f"a whole number from {least} to {most}")
        return value

    def number(self, flag: str, default: Any, what: str, *, least: float = -math.inf, above: float = -math.inf) -> Any:
        """A finite number; ``what`` says in an error what it must be."""
        text = self.given.get(flag)
        if text is None:
            return default
        value = float(text) if _FLOAT.fullmatch(text) else math.nan
        if not (value >= least and value > above and math.isfinite(value)):
            self._refuse(flag, what)
        return value

    def bandwidths(self) -> dict[str, float]:
        """Bandwidths of a cluster that were given, bytes/s."""
        found = {}
        for flag, name in (
            ("--interface-bandwidth", "link_bandwidth"),
            ("--inter-gpu-bandwidth", "inter_gpu_bandwidth"),
        ):
            gbps = self.number(flag, None, "a number above 0, in Gbps", above=0.0)
            if gbps is not None:
                found[name] = gbps_to_bytes_per_s(gbps)
                if not 0 < found[name] < math.inf:
                    self._refuse(flag, "a number above 0, in Gbps")
        return found

    def name(self, flag: str, allowed: tuple[str, ...], default: str | None = None) -> str:
        """One of ``allowed``, in lower case."""
        text = self.given.get(flag, default)
        if text is None or text.lower() not in allowed:
            self._refuse(flag, _one_of(allowed))
        return text.lower()

    def path(self, flag: str) -> Path | None:
        """The name of a file or directory; None if the flag was not given."""
        text = self.given.get(flag)
        if text is None:
            return None
        if not text or "\0" in text:
            self._refuse(flag, "the name of a directory" if flag == "--output" else "the name of a file")
        return Path(text)

    def _refuse(self, flag: str, what: str) -> NoReturn:
        raise FlexNetError(f'{flag} is "{self.given[flag]}"; it must be {what}')


def _one_of(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _check_divides(batch_size: int, cluster: Cluster, *, measured: bool) -> None:
    """Refuse what no data-parallel start can be made of, before anything is read or estimated."""
    gpus = 1 if measured else max(cluster.big_gpu, 1)
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
        if _INTEGER.fullmatch(text) and int(text) > _MAX_REPEATS:
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
        if flag in switches:
            words.append(flag)
        elif flag not in ("--resume", "--output"):
            words += [flag, str(Path(text).absolute()) if flag in _FILES else text]
    return tuple(words)
