"""The files of one run: whole or not at all, checked before it starts, and never lost when one cannot be written."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from flexnet.commands.runs.record import RunRecord, run_json
from flexnet.commands.runs.resume import is_run_of, read_earlier
from flexnet.errors import FlexNetError
from flexnet.files import check_writable, make_directory, write_atomically
from flexnet.report.extra import missing_libraries
from flexnet.report.run import Run
from flexnet.search.candidates import Candidate
from flexnet.search.checkpoint import checkpoint_json
from flexnet.search.found import Found
from flexnet.search.history import HISTORY, History
from flexnet.search.outputs import OUTPUTS
from flexnet.search.outputs.output import Output
from flexnet.search.outputs.strategy import StrategyJson, StrategyText
from flexnet.search.outputs.taskgraph import TaskGraphFbuf
from flexnet.search.plan_file import PlanFile
from flexnet.search.prepared import Prepared
from flexnet.search.state import State
from flexnet.taskgraph_file.encode import TooLargeError
from flexnet.units import s_to_ms

__all__ = ["RunFiles", "one_writer"]

LOCK = ".flexnet.lock"
REPORT = "report.html"

_RUNS = {
    "finished": "a finished run",
    "incomplete": "a finished run some of whose files could not be written",
    "interrupted": "an interrupted run",
}


@contextmanager
def one_writer(directory: Path) -> Iterator[None]:
    """Make a directory if it is not there, and keep other searches out of it while this lasts.

    A directory that was made and is empty in the end is removed.

    The lock ends with the process, however that ends.  There is none where the directory cannot be written (those who
    write its files will find out), or on file systems that refuse locks.

    Raises
    ------
    FlexNetError
        If the directory cannot be made, or another search holds it.
    """
    from filelock import FileLock, Timeout

    made = _missing(directory)
    make_directory(directory)
    lock = FileLock(directory / LOCK, timeout=0, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        raise FlexNetError(
            f"another search is writing to {directory}; wait until it ends, stop it, or name another directory"
        ) from None
    except OSError:
        yield
        return
    try:
        _remove_parts(directory)
        yield
    finally:
        (directory / LOCK).unlink(missing_ok=True)  # while it is held: who waits for it tries again
        lock.release()
        _remove_empty(made)


def _missing(directory: Path) -> list[Path]:
    """A directory and those above it that are not there, the innermost first."""
    return [path for path in (directory, *directory.parents) if not path.exists()]


def _remove_empty(made: list[Path]) -> None:
    """Remove directories that were made for nothing, the innermost first."""
    for path in made:
        try:
            path.rmdir()
        except OSError:  # there is something in it
            return


def _remove_parts(directory: Path) -> None:
    """Remove what a writer that was killed has left; nobody else writes here now."""
    for name in _names():
        for part in directory.glob(f".{name}.*.part"):
            part.unlink(missing_ok=True)


@dataclass(slots=True)
class RunFiles:
    """The files of one run.

    Parameters
    ----------
    record : RunRecord
    written : list of Path
        What is there by now.
    document : bytes
        ``run.json``, once all is written.
    """

    record: RunRecord
    written: list[Path] = field(default_factory=list)
    document: bytes = b""
    _exact: tuple[Candidate, float] | None = None  # the best plan at the last checkpoint, and what it takes
    _problems: list[str] = field(default_factory=list)
    _rescue: Path | None = None

    @property
    def directory(self) -> Path | None:
        """Where all outputs go, if there is such a place."""
        return self.record.request.output

    def check(self, *, resumed: bool) -> None:
        """Refuse places that cannot be written, before any work is done.

        Raises
        ------
        FlexNetError
            Naming the place and the reason: one is that the directory holds a run that is neither ``resumed`` nor to
            be replaced.
        """
        request, directory = self.record.request, self.directory
        places = [path for path in (request.export, request.taskgraph) if path is not None]
        if directory is not None:
            if not (resumed or request.overwrite):
                self._refuse_to_replace(directory)
            places += [directory / name for name in _names()]
        inputs = {os.path.realpath(path) for path in request.inputs.values()}
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
        if self.directory is not None and self.record.request.overwrite:
            for name in (*OUTPUTS, REPORT):
                (self.directory / name).unlink(missing_ok=True)

    def save_progress(self, ready: Prepared, state: State, history: History, search_s: float) -> None:
        """Write what ``--resume`` needs, and how far the search is, if there is a directory for it.

        ``best_ms`` is what the best plan so far takes, priced exactly as in the ``run.json`` of a finished run where
        that is soon done; ``best_search_ms`` is its price as a proposal.
        """
        if self.directory is None:
            return
        if self._exact is None or self._exact[0] is not state.best:  # it takes long: before any file is written
            self._exact = state.best, ready.glanced(state.best)
        write_atomically(self.directory / "checkpoint.json", checkpoint_json(state, ready.rng))
        write_atomically(self.directory / HISTORY, history.to_json())
        found = {
            "initial_ms": float(s_to_ms(ready.start.seconds)),
            "best_ms": float(s_to_ms(min(ready.start.seconds, self._exact[1]))),
            "best_search_ms": float(s_to_ms(state.best.seconds)),
            "iterations": state.iteration,
            "search_s": search_s,
        }
        write_atomically(self.directory / "run.json", run_json(self.record.document("running", found)))

    def write(self, ready: Prepared, state: State, history: History, found: Found) -> list[str]:
        """Write everything that was asked for; a file that cannot be written goes to a temporary directory.

        ``run.json`` comes last, and says that the search has finished only if all others are there.

        Returns
        -------
        list of str
            Sentences on what could not be written where it should be.
        """
        request, directory = self.record.request, self.directory
        if request.export is not None:
            as_json = request.export.suffix.lower() == ".json"
            output = StrategyJson() if as_json else StrategyText()
            self._write_plan(output, request.export, found, instead=StrategyJson())
        if request.taskgraph is not None:
            self._write_plan(TaskGraphFbuf(), request.taskgraph, found)
        if directory is not None:
            for name in OUTPUTS:
                self._write_plan(OUTPUTS[name](), directory / name, found)
            if state.elite and not found.interrupted:  # what is interrupted goes on as if it had not been
                state = replace(state, chosen=found.candidate)
            checkpoint = checkpoint_json(state, ready.rng)
            self._try(directory / "checkpoint.json", lambda path: write_atomically(path, checkpoint))
            self._try(directory / HISTORY, lambda path: write_atomically(path, history.to_json()))
        document = self.record.document(self._status(found), found.to_dict())
        if directory is not None and request.report:
            self._write_report(directory, Run(directory, document, PlanFile.of(found.plan), history))
        self.document = run_json({**document, "status": self._status(found)})
        if directory is not None:
            self._try(directory / "run.json", lambda path: write_atomically(path, self.document))
        return self._problems

    def _status(self, found: Found) -> str:
        """How the run ended, for ``run.json``."""
        if found.interrupted:
            return "interrupted"
        return "incomplete" if self._problems else "finished"

    def _write_report(self, directory: Path, run: Run) -> None:
        """Write a page on the run, where what that takes is installed; a search does not fail for it."""
        if missing_libraries():
            self.record.notes.append(
                f"no report was written: the extra report is not installed; pip install 'flexnet[report]', then "
                f"flexnet report {directory}"
            )
            return
        from flexnet.report.run_report import run_report

        try:
            page = run_report(run).encode()
        except Exception as error:  # what was searched for must not be lost by a drawing of it
            self.record.notes.append(f"no report could be made of this run: {type(error).__name__}: {error}")
            return
        self._try(directory / REPORT, lambda path: write_atomically(path, page))

    def _write_plan(self, output: Output, path: Path, found: Found, instead: Output | None = None) -> None:
        """Write a plan, or what is written ``instead`` where that fails: the original's text cannot say every plan."""

        def write(path: Path, output: Output = output) -> None:
            remarks = output.write(found.plan, path)
            self.record.remarks += [remark for remark in remarks if remark not in self.record.remarks]

        self._try(path, write, lambda path: write(path, instead or output))

    def _refuse_to_replace(self, directory: Path) -> None:
        held = next((name for name in _names() if os.path.lexists(directory / name)), None)
        if held is None:
            return
        what, resume = held, ""
        try:
            earlier = read_earlier(directory)
            what = _RUNS.get(earlier.status, "a run that is under way or was killed")
            ours = is_run_of(earlier, self.record.request, self.record.files)
            if ours and earlier.repeats(self.record.request):
                return
            if ours:
                resume = f"go on with it by --resume {directory}, "
        except FlexNetError:  # no run of this version, so there is nothing to go on with
            what = held
        raise FlexNetError(
            f"{directory} already holds {what}; name another directory, {resume}or replace it with --overwrite"
        )

    def _try(
        self, path: Path, write: Callable[[Path], None], write_instead: Callable[[Path], None] | None = None
    ) -> None:
        try:
            write(path)
            self.written.append(path)
        except TooLargeError as error:
            self._problems.append(str(error))
        except FlexNetError as error:
            self._problems.append(str(error) + self._rescued(path, write_instead or write))

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


def _names() -> tuple[str, ...]:
    """Files of a run's directory."""
    return ("run.json", *OUTPUTS, "checkpoint.json", HISTORY, REPORT)
