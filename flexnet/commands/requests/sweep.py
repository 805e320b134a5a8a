"""What ``flexnet sweep`` is asked to do: its flags, and the points its file becomes, once."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexnet.commands.requests.contender import Contender, Terms, fabric_of
from flexnet.commands.requests.flags import Flag
from flexnet.commands.requests.model_flags import is_model_file, model_flags
from flexnet.commands.requests.search import SearchRequest
from flexnet.commands.requests.shared_flags import DEFAULT_BATCH, OF_SWITCHES
from flexnet.commands.requests.types import FilePath, Name, Whole
from flexnet.errors import FlexNetError
from flexnet.network.topologies import DRAWINGS

if TYPE_CHECKING:
    from flexnet.sweep.sweep_file import SweepFile

__all__ = ["SWEEP_FLAGS", "SweepRequest", "contender_of", "search_of", "sweep_request"]

SWEEP_FLAGS = [
    Flag(
        ["output", "--output", "-o"],
        type=FilePath(directory=True),
        metavar="DIR",
        help="where points and results are kept (default: FILE without .toml); points found there are not redone",
    ),
    Flag(
        ["jobs", "--jobs"],
        type=Whole(1, 4096),
        metavar="N",
        help="processes of this machine (default: its processors)",
    ),
    Flag(
        ["scheduler", "--scheduler"],
        type=str,
        metavar="ADDRESS",
        help="a Dask scheduler, tcp://host:port, whose workers compute the points instead",
    ),
    Flag(
        ["retries", "--retries"],
        type=Whole(0, 100),
        default=2,
        metavar="N",
        help="how often a point is tried again whose process died (default 2); on a cluster, the scheduler decides",
    ),
    Flag(
        ["plan", "--list"],
        type=Name(("points",)),
        metavar="points",
        help="points: tell the points, and which are done, and compute none",
    ),
]


@dataclass(frozen=True, slots=True)
class SweepRequest:
    """A sweep to run.

    Parameters
    ----------
    title : str
    points : tuple of dict
        All that decides each, as JSON can hold it.
    output : Path
    jobs : int
    scheduler : str or None
    retries : int
    only_list : bool
    """

    title: str
    points: tuple[dict[str, Any], ...]
    output: Path
    jobs: int
    scheduler: str | None
    retries: int
    only_list: bool


def sweep_request(words: Sequence[str], values: dict[str, Any]) -> SweepRequest:
    """Read the file, and make points of it.

    Raises
    ------
    FlexNetError
        If there is not one file, the file is wrong, or a point cannot be.
    """
    if len(words) != 1:
        what = f"unexpected argument {words[1]!r}" if words else "no file given"
        raise FlexNetError(f"{what}; use flexnet sweep FILE.toml")
    from flexnet.sweep.extra import check_extra

    check_extra("pydantic", "pyarrow")
    from flexnet.sweep.sweep_file import read_sweep

    path = Path(words[0])
    scheduler = values["scheduler"]
    if scheduler is not None and not scheduler.startswith(("tcp://", "tls://")):
        raise FlexNetError(f'--scheduler is "{scheduler}"; it must be an address like tcp://127.0.0.1:8786')
    if scheduler is not None and values["jobs"] is not None:
        raise FlexNetError("--jobs and --scheduler exclude each other: points are computed here or there")
    asked = read_sweep(path)
    every = (_point(asked, one, path.parent) for one in asked.combinations())
    points = tuple({repr(point): point for point in every}.values())  # a drawing has one speed and degree: its own
    for point in points:  # before the first is computed
        search_of(point)
    return SweepRequest(
        title=asked.title or path.stem,
        points=points,
        output=values["output"] or path.with_suffix(""),
        jobs=values["jobs"] or os.cpu_count() or 1,
        scheduler=scheduler,
        retries=values["retries"],
        only_list=values["plan"] is not None,
    )


def _point(asked: "SweepFile", one: dict[str, Any], beside: Path) -> dict[str, Any]:
    """All that decides a point."""
    from flexnet.sweep.sweep_file import ModelTable

    table = asked.model.get(one["model"], ModelTable())
    common = asked.search.model_dump(exclude_none=True)
    common |= {} if table.gpu_memory is None else {"gpu_memory": table.gpu_memory}
    parameters = {flag.name: common.pop(flag.name, None) for flag in OF_SWITCHES}
    files = {}
    if is_model_file(one["model"]):
        files["model"] = str((beside / one["model"]).absolute())
    batch = table.batch_size or (table.batch_per_server or 0) * one["servers"] or _own_batch(files.get("model"))
    if table.flags:
        _check_flags(one["model"], table.flags)
    if table.mfile is not None:
        files["mfile"] = str((beside / table.mfile).absolute())
    if asked.prices is not None:
        files["prices"] = str((beside / asked.prices).absolute())
    if Path(one["topology"]).suffix.lower() in DRAWINGS:
        files["drawing"] = str((beside / one["topology"]).absolute())
        own = fabric_of(files["drawing"], one["servers"], parameters, asked.panel).drawn(one["bandwidth"])
        one = {**one, "bandwidth": own.gbps, "degree": own.count}
    return {
        **one,
        "batch_size": batch,
        "flags": table.flags,
        "search": common,
        "parameters": parameters,
        "same": asked.same,
        "panel": asked.panel,
        "priced": asked.priced,
        "files": files,
        "sha256": {name: _hash(path) for name, path in files.items()},
    }


def _own_batch(file: str | None) -> int:
    """The batch of a model where none is given: that of its file, if it has one, or of every command."""
    if file is None:
        return DEFAULT_BATCH
    from flexnet.model.graph_file import read_graph

    return read_graph(file)[0].batch_size


def _check_flags(model: str, flags: Iterable[str]) -> None:
    own = {name for flag in model_flags(model) for name in flag.opts}
    if strange := [flag for flag in flags if flag not in own]:
        raise FlexNetError(
            f"flags of [model.{model}] has {strange[0]}, which is no flag of that model"
            + (f"; it has {', '.join(sorted(own))}" if own else ", which has none")
        )


def _hash(path: str) -> str:
    from flexnet.files import sha256_of

    try:
        return sha256_of(Path(path))
    except OSError as error:
        raise FlexNetError(f"cannot read {path}: {error.strerror or error}") from None


def contender_of(point: dict[str, Any]) -> Contender:
    """The network of a point.

    Raises
    ------
    NotToBeHadError
        If the money of the point does not buy it, or it has other interfaces.
    FlexNetError
        If it cannot be, or a speed has no price.
    """
    from flexnet.prices.fabrics import Interfaces, direct
    from flexnet.prices.table import read_prices

    drawn = point["files"].get("drawing", point["topology"])
    fabric = fabric_of(drawn, point["servers"], point["parameters"], point["panel"])
    prices = read_prices(Path(file) if (file := point["files"].get("prices")) else None) if point["priced"] else None
    asked = Interfaces(point["degree"], point["bandwidth"])
    dollars = 0.0
    if point["same"] == "cost" and fabric.drawing is None:  # which is what it is, whatever it costs
        assert prices is not None
        dollars = direct(point["servers"] * asked.count, asked.gbps, point["panel"]).dollars(prices)
    return Contender.of(fabric, Terms(asked, point["same"], prices, dollars))


def search_of(point: dict[str, Any]) -> tuple[Contender, SearchRequest | None] | str:
    """The network of a point and its search, if it has a model; or why it cannot be had.

    Raises
    ------
    FlexNetError
        If the point contradicts itself.
    """
    from flexnet.prices.fabrics import NotToBeHadError

    try:
        contender = contender_of(point)
    except NotToBeHadError as answer:
        return str(answer)
    if not point["model"]:
        return contender, None
    flags = {f"--{name.replace('_', '-')}": value for name, value in point["search"].items()}
    flags |= {"--batch-size": point["batch_size"], "--search-budget": point["budget"]}
    if "mfile" in point["files"]:
        flags["--mfile"] = point["files"]["mfile"]
    words = [word for flag, value in {**flags, **point["flags"]}.items() for word in (flag, str(value))]
    return contender, contender.request([point["files"].get("model", point["model"]), *words], point["seed"])
