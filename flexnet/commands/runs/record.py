"""``run.json``: what a run was asked, with which inputs and versions, and what it found."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from flexnet.commands.requests.search import SearchRequest
from flexnet.commands.runs.versions import now, versions
from flexnet.files import printable
from flexnet.units import bytes_per_s_to_gbps, s_to_us

__all__ = ["FORMAT", "VERSION", "RunRecord", "run_json"]

FORMAT = "flexnet-run"
VERSION = 1

_ONE_LINE = ("links", "additive_ms_and_memory_gb")  # lists that would fill pages


@dataclass(slots=True)
class RunRecord:
    """What ``run.json`` says of a run, whatever it finds.

    Parameters
    ----------
    request : SearchRequest
    command_line : list of str
        What was typed.
    files : Mapping[str, Mapping[str, str]]
        Path and SHA-256 of input files by flag.
    source, estimated
        Where times come from, and whether by a formula.
    remarks : list of str
        What the packet simulator will not simulate as meant.
    notes : list of str
        What is to be told of the files themselves, and not kept.
    extended_at : list of int
        Proposals after which the search was resumed with another limit than it began with, or for more seconds.
    """

    request: SearchRequest
    command_line: list[str]
    files: Mapping[str, Mapping[str, str]]
    source: str = ""
    estimated: bool = False
    remarks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    extended_at: list[int] = field(default_factory=list)

    def document(self, status: str, found: Mapping[str, Any]) -> dict[str, Any]:
        """What ``run.json`` says; ``found`` is what the search found, or has so far."""
        request = self.request
        files = {flag: {name: printable(text) for name, text in item.items()} for flag, item in self.files.items()}
        return {
            "format": FORMAT,
            "version": VERSION,
            "status": status,
            **_shortened(found),
            "topology": printable(request.settings.topology_name),
            "seed": request.settings.seed,
            "semantics": request.semantics.name,
            "estimated": self.estimated,
            "times": printable(self.source),
            "remarks": self.remarks,
            "inputs": _inputs(request),
            "files": files,
            "arguments": [printable(word) for word in request.arguments],
            **({"extended_at": self.extended_at} if self.extended_at else {}),
            "command_line": [printable(word) for word in self.command_line],
            "written": now(),
            "versions": versions(),
        }


def run_json(document: Mapping[str, Any]) -> bytes:
    """``run.json`` of what it says."""
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _inputs(request: SearchRequest) -> dict[str, object]:
    """Every input, in the user's units."""
    cluster = request.cluster
    return {
        "model": request.graph.name,
        "model_flags": dict(request.model_flags),
        "batch_size": request.micro_batches * request.graph.batch_size,
        "micro_batches": request.micro_batches,
        "tensor_parallel": request.tensor_parallel,
        "servers": cluster.n_server,
        "big_gpu": cluster.big_gpu,
        "degree": cluster.degree,
        "interface_gbps": bytes_per_s_to_gbps(cluster.link_bandwidth),
        "inter_gpu_gbps": bytes_per_s_to_gbps(cluster.inter_gpu_bandwidth),
        "latency_us": s_to_us(cluster.latency),
        "gpu": request.gpu,
        "cuts": "all" if request.every_cut else "measured",
        "optimizer": request.optimizer,
        "semantics": asdict(request.semantics),
        "settings": request.settings.to_dict(),
    }


def _shortened(found: Mapping[str, Any]) -> dict[str, Any]:
    """The same with long lists on one line."""
    short = {name: _on_one_line(value) if name in _ONE_LINE else value for name, value in found.items()}
    for name in {"rings", "in_groups"} & short.keys():
        short[name] = {key: _on_one_line(value) for key, value in found[name].items()}
    return short


def _on_one_line(value: object) -> orjson.Fragment:
    return orjson.Fragment(orjson.dumps(value))
