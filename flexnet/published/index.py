"""What is known of the published measurements and task graphs: which model, flags and cluster each was made for."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from flexnet.errors import FlexNetError
from flexnet.model.graph import ModelGraph
from flexnet.model.zoo import MODELS

__all__ = ["Published", "published_measurement", "published_measurements", "task_graph_case"]

_DATA = Path(__file__).parent / "published.json"
_TASK_GRAPH = re.compile(r"(?P<gbps>[0-9]+)(?P<model>[a-z]\w*)_(?P<n_server>[0-9]+)")


@dataclass(frozen=True, slots=True)
class Published:
    """Settings of one published measurement file.

    Parameters
    ----------
    name : str
        File name without ``.json``.
    model : str
        Name in ``flexnet.model.zoo.MODELS``.
    batch_size : int
        Global batch, samples.
    n_server : int
        Servers; the file's ``ngpus``.
    big_gpu : int
        GPUs acting as one in each server when it was measured; 0 for one GPU a server.
    flags : Mapping[str, str]
        Model flags that differ from the defaults.
    """

    name: str
    model: str
    batch_size: int
    n_server: int
    big_gpu: int
    flags: Mapping[str, str]

    @property
    def arguments(self) -> tuple[str, ...]:
        """The flags as on a command line: name, value, name, value..."""
        return tuple(word for pair in self.flags.items() for word in pair)

    def build(self) -> ModelGraph:
        """Build the model that was measured."""
        return MODELS[self.model].build(self.flags, self.batch_size)


def published_measurements() -> Mapping[str, Published]:
    """Return all published measurement files by name, in the order of the reference's table.

    >>> published_measurements()["dlrm16"].flags["--arch-mlp-bot"]
    '1024-1024-1024-1024-1024-1024-1024-1024'
    """
    return _load()[0]


def published_measurement(name: str) -> Published:
    """Return the published measurement file called ``name`` (without ``.json``).

    Raises
    ------
    FlexNetError
        If there is none.
    """
    known = published_measurements()
    if name not in known:
        raise FlexNetError(f"no published measurement is called {name!r}; they are: {', '.join(known)}")
    return known[name]


def task_graph_case(file_name: str) -> tuple[int, Published] | None:
    """Tell from a task graph's file name its bandwidth per server in Gbps and the measurement it was made from.

    Names are ``<Gbps><model>_<servers>.fbuf``; None for others, and where no measurement was published.

    >>> gbps, published = task_graph_case("100dlrm_16.fbuf")
    >>> gbps, published.name
    (100, 'dlrm16')
    >>> task_graph_case("testbed_12.fbuf") is None
    True
    """
    match = _TASK_GRAPH.fullmatch(file_name.removesuffix(".fbuf"))
    if match is None:
        return None
    measurements, exceptions = _load()
    model, n_server = match["model"], match["n_server"]
    found = measurements.get(exceptions.get(f"{model}_{n_server}", f"{model}{n_server}"))
    return None if found is None else (int(match["gbps"]), found)


@cache
def _load() -> tuple[Mapping[str, Published], Mapping[str, str]]:
    """Return the measurements by name, and the task graphs whose measurement the rule does not give."""
    content = json.loads(_DATA.read_text(encoding="utf-8"))
    measurements = {}
    for name, row in content["measurements"].items():
        flags = MappingProxyType({flag: _expand(value) for flag, value in row["flags"].items()})
        measurements[name] = Published(name, row["model"], row["batch_size"], row["n_server"], row["big_gpu"], flags)
    return MappingProxyType(measurements), MappingProxyType(content["task_graphs"])


def _expand(text: str) -> str:
    """Write ``x^k`` in a dash list as k times x.

    >>> _expand("2048^3-1")
    '2048-2048-2048-1'
    """
    return re.sub(r"([0-9]+)\^([0-9]+)", lambda m: "-".join([m[1]] * int(m[2])), text)
