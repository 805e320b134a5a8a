"""What ``flexnet profile`` was asked to do: its flags, and what becomes of them."""

from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from flexnet.commands.requests.flags import Flag, Given, switch
from flexnet.commands.requests.limits import MAX_COUNT, MAX_SERVERS
from flexnet.commands.requests.model_command import Asked
from flexnet.commands.requests.model_flags import built_model, toy_model, unused_model_flags
from flexnet.commands.requests.shared_flags import BATCH_SIZE, BIG_GPU, PARAMETER_PARALLEL, dtype_flag
from flexnet.commands.requests.types import FilePath, FilePaths, Name, Number, Whole
from flexnet.cost.gpus import GPUS
from flexnet.errors import FlexNetError
from flexnet.model.graph import ModelGraph
from flexnet.model.zoo import MODELS

if TYPE_CHECKING:
    from flexnet.cost.shapes import Cuts

__all__ = ["DEVICES", "PROFILE_FLAGS", "ProfileRequest", "profile_request"]

DEVICES = ("cuda", "cpu", "analytic")

PROFILE_FLAGS = [
    BATCH_SIZE,
    Flag(["nsimnode", "--nsimnode"], type=Whole(1, MAX_SERVERS), default=1, metavar="N", help="servers (default 1)"),
    BIG_GPU,
    Flag(
        ["device", "--device"],
        type=Name(DEVICES),
        default="cuda",
        metavar="NAME",
        help="cuda (default) or cpu: measured there with PyTorch; or analytic: estimates",
    ),
    Flag(
        ["gpu", "--gpu"],
        type=Name(sorted(GPUS)),
        default="a100",
        metavar="NAME",
        help="GPU to estimate for: {names} (default a100)",
    ),
    dtype_flag(
        "arithmetic: {names} (default that of the model; of the original's models fp32, without TF32 where it is "
        "measured, and with it where their libraries choose it where it is estimated); fp8 is only estimated"
    ),
    Flag(
        ["time_cap", "--time-cap"],
        type=Number(1e-6, 86400.0, "seconds"),
        default=0.2,
        metavar="S",
        help="seconds a pass is repeated at most while its times spread by 2 % (default 0.2)",
    ),
    Flag(
        ["time", "--time"],
        type=Number(1e-3, 86400.0 * 365, "seconds"),
        default=inf,
        metavar="S",
        help="stop after S seconds, as soon as all is measured that searches start from; quick configs come first",
    ),
    switch("resume", "--resume", "go on with an interrupted profile, if FILE.partial holds one"),
    Flag(
        ["reuse", "--reuse"],
        type=FilePaths(),
        is_list=True,
        metavar="FILE,...",
        help="take from files that were measured on the same device what they have of the same parts",
    ),
    Flag(
        ["cuts", "--cuts"],
        type=Name(("all", "batch")),
        default="all",
        metavar="NAME",
        help="all (default) that a search may choose; or batch: cuts of the batch, from which it estimates others",
    ),
    PARAMETER_PARALLEL,
    switch(
        "enable_attribute_parallel",
        "--enable-attribute-parallel",
        "operators on images may be cut along width and height",
    ),
    Flag(
        ["max_localsz", "--max-localsz"],
        type=Whole(1, MAX_COUNT),
        metavar="N",
        help="most samples on one GPU (default: no limit)",
    ),
    Flag(
        ["output", "--output", "-o"],
        type=FilePath(),
        metavar="FILE",
        help="measurement file to write (default measure_<batch>_<servers>.json, if it is not there)",
    ),
]


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """A profile to make.

    Parameters
    ----------
    graph : ModelGraph
    model_flags : Given
        Model flags that were given, as text.
    cuts : Cuts
        Which configs.
    device : str
        ``cuda``, ``cpu`` or ``analytic``.
    gpu : str
        GPU to estimate for.
    dtype : str or None
        A name in `flexnet.model.precision.PRECISIONS`; None for that of the model.
    time_cap : float
        Seconds a pass of a config is repeated at most.
    time : float
        Seconds after which no more configs are measured than searches start from; infinite if nothing was said.
    resume : bool
        Go on with an interrupted profile if there is one.
    reuse : tuple of Path
        Measurement files whose times may be taken.
    output : Path
    warnings : tuple of str
        Sentences on flags that do nothing.
    """

    graph: ModelGraph
    model_flags: Given
    cuts: "Cuts"
    device: str
    gpu: str
    dtype: str | None
    time_cap: float
    time: float
    resume: bool
    reuse: tuple[Path, ...]
    output: Path
    warnings: tuple[str, ...]


def profile_request(asked: Asked) -> ProfileRequest:
    """Make domain objects of what was asked.

    Raises
    ------
    FlexNetError
        If something is missing or out of range, or no file is named and the default one is there.
    """
    if asked.model is None:
        raise FlexNetError(f"no model given; use flexnet profile MODEL, one of {', '.join(MODELS)}")

    from flexnet.cost.shapes import Cuts

    values, device = asked.values, asked.values["device"]
    other = ("--time-cap", "--time", "--resume", "--reuse") if device == "analytic" else ("--gpu",)
    useless = [f"{flag} has no effect with --device {device}" for flag in other if flag in asked.given]
    graph = built_model(asked.model, asked.model_given, values["batch_size"])
    if (values["dtype"] or graph.dtype) == "fp8" and device != "analytic":
        whose = "--dtype fp8" if values["dtype"] else f"{asked.model}, a model in fp8,"
        raise FlexNetError(f"{whose} needs --device analytic; PyTorch's operators have no passes in 8 bits to measure")
    return ProfileRequest(
        graph=graph,
        model_flags=dict(asked.model_given),
        cuts=Cuts(
            n_server=values["nsimnode"],
            big_gpu=values["big_gpu"],
            parameter_parallel=values["enable_parameter_parallel"],
            attribute_parallel=values["enable_attribute_parallel"],
            max_local=values["max_localsz"],
            every=values["cuts"] == "all",
        ),
        device=device,
        gpu=values["gpu"],
        dtype=values["dtype"],
        time_cap=values["time_cap"],
        time=values["time"],
        resume=values["resume"],
        reuse=values["reuse"] or (),
        output=values["output"] or _default_output(values["batch_size"], values["nsimnode"]),
        warnings=(
            *useless,
            *toy_model(asked.model, asked.model_given, graph),
            *unused_model_flags(asked.model, asked.model_given),
        ),
    )


def _default_output(batch_size: int, n_server: int) -> Path:
    """The name the original gives a measurement file: profiles of several models may share it."""
    path = Path(f"measure_{batch_size}_{n_server}.json")
    if path.exists():
        raise FlexNetError(f"{path} is there already; name a file with -o, the same one if it is to be replaced")
    return path
