"""The TOML file of a sweep: what may stand in it, and what it asks."""

import tomllib
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from flexnet.errors import FlexNetError, did_you_mean
from flexnet.files import read_regular

__all__ = ["Common", "ModelTable", "SweepFile", "read_sweep"]

Whole = Annotated[int, Field(ge=1, le=2**31 - 1)]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
Budget = Annotated[int, Field(ge=0, le=10**12)]
Gbps = Annotated[float, Field(gt=0, le=1e6)]
Name = Annotated[str, Field(min_length=1)]
Memory = Annotated[float, Field(gt=0)] | Literal["none"]


class _Strict(BaseModel):
    """Nothing that is not named here, and nothing converted: ``"4"`` is no number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ModelTable(_Strict):
    """``[model.NAME]``: how one model is trained.

    Parameters
    ----------
    batch_size, batch_per_server : int
        Samples of the global batch; or of a server, whatever the number of servers.
    mfile : str
        Measurement file, from the directory of the sweep's file; estimated times without one.
    gpu_memory : float or "none"
        GB of a GPU, in place of what ``[search]`` says.
    flags : dict
        Of the model, as ``flexnet models`` lists them: ``"--num-layers" = "6"``.
    """

    batch_size: Whole | None = None
    batch_per_server: Whole | None = None
    mfile: Name | None = None
    gpu_memory: Memory | None = None
    flags: dict[str, str] = {}

    @model_validator(mode="after")
    def _one_batch(self) -> "ModelTable":
        if self.batch_size is not None and self.batch_per_server is not None:
            raise ValueError("batch_size and batch_per_server exclude each other")
        return self


class Common(_Strict):
    """``[search]``: what every point has in common, with the names and units of the flags of ``flexnet search``."""

    big_gpu: Annotated[int, Field(ge=0, le=1024)] = 0
    network_latency: Annotated[float, Field(ge=0, le=1e9)] = 1.0
    inter_gpu_bandwidth: Gbps | None = None
    gpu: Name | None = None
    cuts: Literal["all", "measured"] | None = None
    gpu_memory: Memory | None = None
    optimizer: Name | None = None
    micro_batches: Annotated[int, Field(ge=1, le=1024)] | None = None
    tensor_parallel: Annotated[int, Field(ge=1, le=1024)] | None = None
    time: Annotated[float, Field(gt=0)] | None = None
    servers_per_leaf: Whole = 16
    oversubscription: Annotated[float, Field(gt=0)] = 1.0
    ports: Whole | None = None


class SweepFile(_Strict):
    """A sweep: all combinations of the lists.

    Parameters
    ----------
    title : str
    models : list of str
        Names of ``flexnet models``; none: networks are only priced.
    topologies : list of str
        Names, or files of drawn networks, from the directory of the sweep's file.
    servers, degrees, bandwidths : list
        Servers; interfaces of a server, and Gbps of each, where a network leaves them free.
    seeds, budgets : list of int
        Of the search.
    same : str
        What the networks of one combination have in common, as of ``flexnet compare``; ``cost``: the money is what
        ``degrees`` interfaces of ``bandwidths`` cost where servers are linked directly.
    prices : str
        Price file, from the directory of the sweep's file; the one that comes with flexnet if none.
    priced : bool
        False leaves dollars out, for speeds that have no price.
    panel : str
    search : Common
    model : dict of str to ModelTable
    """

    title: str = ""
    models: list[Name] = []
    topologies: Annotated[list[Name], Field(min_length=1)]
    servers: Annotated[list[Whole], Field(min_length=1)]
    bandwidths: Annotated[list[Gbps], Field(min_length=1)] = [100.0]
    degrees: Annotated[list[Whole], Field(min_length=1)] = [4]
    seeds: Annotated[list[Seed], Field(min_length=1)] = [0]
    budgets: Annotated[list[Budget], Field(min_length=1)] = [2000]
    same: Literal["cost", "bandwidth", "degree"] = "degree"
    prices: Name | None = None
    priced: bool = True
    panel: Literal["patch", "ocs"] = "patch"
    search: Common = Common()
    model: dict[str, ModelTable] = {}

    @model_validator(mode="after")
    def _known(self) -> "SweepFile":
        for name in self.model:
            if name not in self.models:
                hint = did_you_mean(name, self.models)
                raise ValueError(f"[model.{name}] is of none of the models" + (f"; {hint}" if hint else ""))
        if not self.priced and (self.same == "cost" or self.prices is not None or not self.models):
            raise ValueError("priced = false leaves nothing to price by: not with same = 'cost', prices, or no models")
        for key, values in (("topologies", self.topologies), ("models", self.models), ("seeds", self.seeds)):
            if len(set(values)) < len(values):
                raise ValueError(f"{key} names something twice")
        return self

    def combinations(self) -> list[dict[str, Any]]:
        """Every point by the names of rows: model, topology, servers, bandwidth, degree, seed, budget."""
        models = self.models or [""]
        seeds, budgets = (self.seeds, self.budgets) if self.models else ([0], [0])
        axes: dict[str, list[Any]] = {
            "model": models,
            "servers": self.servers,
            "bandwidth": self.bandwidths,
            "degree": self.degrees,
            "topology": self.topologies,
            "budget": budgets,
            "seed": seeds,
        }
        return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def read_sweep(path: Path) -> SweepFile:
    """Read the file of a sweep.

    Raises
    ------
    FlexNetError
        If it cannot be read, is no TOML, or says something that it may not: with the place, and the key that was
        meant.
    """
    try:
        found = tomllib.loads(read_regular(path).decode())
    except OSError as error:
        raise FlexNetError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FlexNetError(f"{path} is not text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise FlexNetError(f"{path} is not valid TOML: {error}") from None
    try:
        return SweepFile.model_validate(found)
    except ValidationError as error:
        raise FlexNetError(f"{path}: {_sentence(error)}") from None


def _sentence(error: ValidationError) -> str:
    """What is wrong first, in one sentence."""
    first = error.errors(include_url=False)[0]
    *parents, key = first["loc"] or ("",)
    place = ".".join(str(part) for part in first["loc"] if not _is_type(part))
    if first["type"] == "extra_forbidden":
        known = list(_table(parents).model_fields)
        hint = did_you_mean(str(key), known) or f"it may have {', '.join(known)}"
        inside = f" in [{'.'.join(map(str, parents))}]" if parents else ""
        return f"unknown key {key}{inside}; {hint}"
    if first["type"] == "missing":
        return f"{place} is missing"
    message = first["msg"].removeprefix("Value error, ")
    return f"{place}: {message[0].lower()}{message[1:]}, not {first['input']!r}" if place else message


def _is_type(part: int | str) -> bool:
    """Whether part of a place is one of pydantic's, not of the file: which of several types was tried."""
    return isinstance(part, str) and ("constrained" in part or "literal" in part)


def _table(parents: list[int | str]) -> type[BaseModel]:
    """The table at a place."""
    table: type[BaseModel] = SweepFile
    for part in parents:
        field = table.model_fields.get(str(part))
        if field is None:
            continue  # the name of a model
        kind = get_args(field.annotation)[-1] if get_origin(field.annotation) is dict else field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            table = kind
    return table
