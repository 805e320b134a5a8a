"""Files a search writes: whole or not at all, checked before it starts, and never lost when one cannot be written."""

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from flexnet.atomic import check_writable, write_atomically
from flexnet.config import RunConfig
from flexnet.errors import FlexNetError
from flexnet.export.strategy_file import strategy_json, strategy_text
from flexnet.provenance import printable, versions
from flexnet.results import Result, result_document
from flexnet.resume import is_run_of, read_earlier
from flexnet.search.alternate import Plan, State
from flexnet.search.checkpoint import checkpoint_json
from flexnet.search.find import Found, Prepared
from flexnet.units import s_to_ms

__all__ = ["FORMAT", "Outputs", "RunRecord"]

FORMAT = "flexnet-run"
VERSION = 1
FILES = ("run.json", "strategy.json", "taskgraph.fbuf", "checkpoint.json")


@dataclass(slots=True)
class RunRecord:
    """What ``run.json`` says of a run, whatever it finds.

    Parameters
    ----------
    config : RunConfig
    command_line : list of str
        What was typed.
    files : Mapping[str, Mapping[str, str]]
        Path and SHA-256 of input files by flag.
    source, estimated
        Where times come from, and whether by a formula.
    remarks : list of str
        What the packet simulator will not simulate as meant.
    """

    config: RunConfig
    command_line: list[str]
    files: Mapping[str, Mapping[str, str]]
    source: str = ""
    estimated: bool = False
    remarks: list[str] = field(default_factory=list)

    def document(self, status: str, found: Mapping[str, Any]) -> bytes:
        """The whole of ``run.json``."""
        config = self.config
        files = {flag: {name: printable(text) for name, text in item.items()} for flag, item in self.files.items()}
        content = {
            "format": FORMAT,
            "version": VERSION,
            "status": status,
            **found,
            "topology": config.settings.topology,
            "seed": config.settings.seed,
            "semantics": config.semantics.name,
            "estimated": self.estimated,
            "times": printable(self.source),
            "remarks": self.remarks,
            "inputs": _inputs(config),
            "files": files,
            "arguments": [printable(word) for word in config.arguments],
            "command_line": [printable(word) for word in self.command_line],
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
        }
        return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _inputs(config: RunConfig) -> dict[str, object]:
    """Every input, in the user's units."""
    cluster = config.cluster
    return {
        "model": config.graph.name,
        "model_flags": dict(config.model_flags),
        "batch_size": config.graph.batch_size,
        "servers": cluster.n_server,
        "big_gpu": cluster.big_gpu,
        "degree": cluster.degree,
        "interface_gbps": cluster.link_bandwidth * 8e-9,
        "inter_gpu_gbps": cluster.inter_gpu_bandwidth * 8e-9,
        "latency_us": cluster.latency * 1e6,
        "gpu": config.gpu,
        "semantics": asdict(config.semantics),
        "settings": asdict(config.settings),
    }


@dataclass(slots=True)
class Outputs:
    """The files of one run."""

    config: RunConfig
    record: RunRecord
    written: list[Path] = field(default_factory=list)
    _exact: tuple[Plan, float] | None = None  # the best plan at the last checkpoint, and what it takes
    _problems: list[str] = field(default_factory=list)
    _rescue: Path | None = None

    def check(self, *, resumed: bool) -> None:
        """Refuse places that cannot be written, before any work is done.

        Raises
        ------
        FlexNetError
            Naming the place and the reason: one is that the directory holds a run that is neither ``resumed`` nor to
            be replaced.
        """
        config, directory = self.config, self.config.output
        places = [path for path in (config.export, config.taskgraph) if path is not None]
        if directory is not None:
            if not (resumed or config.overwrite):
                self._refuse_to_replace(directory)
            places += [directory / name for name in FILES]
        inputs = {os.path.realpath(path) for path in (config.mfile, config.start) if path is not None}
        seen: set[str] = set()
        for path in places:
            check_writable(path)
            place = os.path.realpath(path)
            if place in inputs:
                raise FlexNetError(f"cannot write {path}: it is an input of this search; name another file")
            if place in seen and (path.is_file() or not path.exists()):
                raise FlexNetError(f"cannot write {path}: two outputs have this name; name another file")
            seen.add(place)

    def begin(self) -> None:
        """Remove the plan of the run that this one replaces: it is no result of what ``run.json`` will describe."""
        if self.config.output is not None and self.config.overwrite:
            for name in ("strategy.json", "taskgraph.fbuf"):
                (self.config.output / name).unlink(missing_ok=True)

    def save_progress(self, ready: Prepared, state: State, initial_seconds: float, search_s: float) -> None:
        """Write what ``--resume`` needs, and how far the search is, if there is a directory for it.

        ``best_ms`` is what the best plan so far takes, priced exactly as in the ``run.json`` of a finished run;
        ``best_search_ms`` is its price as a proposal.
        """
        directory = self.config.output
        if directory is None:
            return
        write_atomically(directory / "checkpoint.json", checkpoint_json(state, ready.rng))
        if self._exact is None or self._exact[0] is not state.best:
            self._exact = state.best, ready.exact(state).seconds
        found = {
            "initial_ms": float(s_to_ms(initial_seconds)),
            "best_ms": float(s_to_ms(min(initial_seconds, self._exact[1]))),
            "best_search_ms": float(s_to_ms(state.best.seconds)),
            "iterations": state.iteration,
            "search_s": search_s,
        }
        write_atomically(directory / "run.json", self.record.document("running", found))

    def write(self, ready: Prepared, state: State, result: Result) -> list[str]:
        """Write everything that was asked for; a file that cannot be written goes to a temporary directory.

        Returns
        -------
        list of str
            Sentences on what could not be written where it should be.
        """
        config = self.config
        directory = config.output
        if config.export is not None:
            self._try(config.export, lambda path: self._strategy(path, result))
        if config.taskgraph is not None:
            self._try(config.taskgraph, lambda path: self._task_graph(path, ready, result))
        if directory is not None:
            self._try(directory / "strategy.json", lambda path: self._strategy(path, result))
            self._try(directory / "taskgraph.fbuf", lambda path: self._task_graph(path, ready, result))
            checkpoint = checkpoint_json(state, ready.rng)
            self._try(directory / "checkpoint.json", lambda path: write_atomically(path, checkpoint))
            status = "interrupted" if result.interrupted else "finished"
            run = self.record.document(status, result_document(ready, result))
            self._try(directory / "run.json", lambda path: write_atomically(path, run))
        return self._problems

    def _refuse_to_replace(self, directory: Path) -> None:
        held = next((name for name in FILES if os.path.lexists(directory / name)), None)
        if held is None:
            return
        what, resume = held, ""
        try:
            earlier = read_earlier(directory)
            what = {"finished": "a finished run", "interrupted": "an interrupted run"}.get(
                earlier.status, "a run that is under way or was killed"
            )
            ours = is_run_of(earlier, self.config, self.record.files)
            if ours and earlier.repeats(self.config):
                return
            if ours:
                resume = f"go on with it by --resume {directory}, "
        except FlexNetError:  # no run of this version, so there is nothing to go on with
            what = held
        raise FlexNetError(
            f"{directory} already holds {what}; name another directory, {resume}or replace it with --overwrite"
        )

    def _try(self, path: Path, write: Callable[[Path], None]) -> None:
        try:
            write(path)
            self.written.append(path)
        except FlexNetError as error:
            self._problems.append(str(error) + self._rescued(path, write))

    def _rescued(self, path: Path, write: Callable[[Path], None]) -> str:
        try:
            self._rescue = self._rescue or Path(tempfile.mkdtemp(prefix="flexnet-"))
            name, n = path.name, 1
            while (self._rescue / name).exists():  # outputs of one name in several directories
                n += 1
                name = f"{n}-{path.name}"
            write(self._rescue / name)
        except (FlexNetError, OSError):
            return " (nor could it be written to a temporary directory)"
        return f" (it is in {self._rescue / name} instead)"

    def _strategy(self, path: Path, result: Result) -> None:
        graph = self.config.graph
        as_json = path.suffix.lower() == ".json"
        if as_json:
            times = printable(self.record.source)
            data = strategy_json(graph, result.configs, estimated=self.record.estimated, times=times)
        else:
            data = strategy_text(graph, result.configs).encode()
        write_atomically(path, data)

    def _task_graph(self, path: Path, ready: Prepared, result: Result) -> None:
        found = Found(ready.problem, result.plan, result.timeline, result.initial_seconds, result.iterations)
        self.record.remarks[:] = found.write_taskgraph(path)
