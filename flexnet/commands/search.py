"""``flexnet search MODEL``: find a strategy and a network, show them, and write them."""

import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import click

from flexnet.commands.console.printing import say, warn
from flexnet.commands.console.progress import Display, Trend, waiting
from flexnet.commands.console.signals import interruptible
from flexnet.commands.requests.model_command import Asked, ModelCommand, model_argument
from flexnet.commands.requests.search import SearchRequest, search_request
from flexnet.commands.requests.search_flags import SEARCH_FLAGS
from flexnet.errors import FlexNetError
from flexnet.interrupts import undisturbed
from flexnet.model.zoo import MODELS
from flexnet.processes import n_core

if TYPE_CHECKING:  # heavy: only after all flags are read
    from flexnet.commands.runs.directory import RunFiles
    from flexnet.commands.runs.resume import Earlier
    from flexnet.search.bounding import Bounding
    from flexnet.search.driver import Progress
    from flexnet.search.found import Found
    from flexnet.search.history import History
    from flexnet.search.prepared import Prepared
    from flexnet.search.starts.start import Bound
    from flexnet.search.state import Info, State

__all__ = ["search"]

FIRST_CHECKPOINT_S, CHECKPOINT_S = 10.0, 60.0  # before the first checkpoint, and between the others


@click.pass_context
def _search(ctx: click.Context, /, **_: object) -> int:
    """Finds the strategy and topology with the shortest training iteration.

    MODEL is one that flexnet models lists, or a model file; flexnet search MODEL --help shows its flags too.
    """
    asked: Asked = search.asked(ctx)
    earlier = None
    if asked.values["resume"] is not None:
        from flexnet.commands.runs.resume import read_earlier, resumed_request

        earlier = read_earlier(asked.values["resume"])
        request = resumed_request(earlier, asked)
    elif asked.model is None:
        raise FlexNetError(f"no model given; use flexnet search MODEL, one of {', '.join(MODELS)}")
    else:
        from flexnet.commands.runs.automatic import with_numbers

        request = search_request(with_numbers(asked))

    from flexnet.commands.runs.directory import RunFiles, one_writer
    from flexnet.commands.runs.inputs import hashes_of
    from flexnet.commands.runs.record import RunRecord
    from flexnet.search.compiling import Compiling
    from flexnet.simulate.protocol import PROTOCOLS

    hashes = hashes_of(request)
    if earlier is not None:
        earlier.check_files(hashes)
    followed = request.semantics.fair_links and PROTOCOLS[request.settings.protocol].by_packet
    with (
        one_writer(request.output) if request.output is not None else nullcontext(),
        Compiling() if followed else nullcontext() as compiling,
    ):
        files = RunFiles(RunRecord(request, ctx.find_object(list) or [], hashes))
        return _run(request, files, earlier, first=compiling is not None and compiling.goes_on)


search = ModelCommand("search", params=[model_argument(), *SEARCH_FLAGS], callback=_search, help=_search.__doc__)


def _run(request: SearchRequest, files: "RunFiles", earlier: "Earlier | None", *, first: bool) -> int:
    """Search, show, write; the exit status.

    0; 130 after Ctrl-C (143 after SIGTERM), with what was found so far written.

    Raises
    ------
    FlexNetError
        If an input is wrong, which is known before the search starts, or some output could not be written.
    """
    from flexnet.commands.runs.inputs import (
        problem_of,
        read_checkpoint,
        read_costs,
        read_history,
        read_known,
        read_start,
        with_memory,
    )
    from flexnet.search.history import History
    from flexnet.search.jobs import run
    from flexnet.search.opening import opening_lines
    from flexnet.search.prepare import prepare

    files.check(resumed=earlier is not None)
    table = read_costs(request)
    request = with_memory(request, table)
    files.record.request, files.record.source, files.record.estimated = request, table.source, table.estimated
    problem = problem_of(request, table)
    start, known = read_start(request, problem), read_known(request, problem)
    doing = "compiling, which is done once and takes half a minute" if first else "laying out the search"
    with nullcontext() if request.as_json else waiting(doing):
        ready = prepare(problem, request.settings, start, known, replays_later=first)
    state = ready.state if earlier is None else read_checkpoint(request, ready)
    if earlier is not None:
        files.record.extended_at = [*earlier.extended_at, *([state.iteration] if earlier.extended_by(request) else [])]
    budget = request.settings.budget
    display = Display(None if budget is None else budget + 1, state.iteration)
    history = History.begin(state) if earlier is None else read_history(request, state)
    with interruptible() as stop:
        for line in request.warnings:
            warn(line)
        if not request.as_json:
            for line in opening_lines(ready.start, request.settings):
                say(line)
            if earlier is not None:
                say(f"resumed after {state.iteration} proposals")
        with undisturbed():
            files.begin()
            files.save_progress(ready, state, history, earlier.search_s if earlier else 0.0)
        watch = _Watch(files, ready, display, earlier, history, beside=not first)
        try:
            try:
                outcome = run(ready, state, observe=watch.observe, stop=stop)
            finally:
                watch.clear()
            if earlier is not None and outcome.improved_at is None:
                outcome = replace(outcome, improved_at=history.improved_at)
            if stop():  # after the last proposal, too
                outcome = replace(outcome, interrupted=True)
                if not request.as_json:
                    with suppress(FlexNetError):  # a terminal that is gone
                        say("interrupted; what was found is priced and written")
            with nullcontext() if request.as_json else waiting("pricing what was found"):
                found = ready.found(outcome, watch.earlier_s, watch.proven)
        finally:
            watch.end()
        with undisturbed():
            problems = [*files.write(ready, outcome.state, history, found), *watch.problems]
        problems += _told(request, files, found)
    if problems:
        raise FlexNetError("; ".join(problems))
    return stop.status if found.interrupted or stop() else 0


def _told(request: SearchRequest, files: "RunFiles", found: "Found") -> list[str]:
    """Say what was found; what went wrong."""
    for remark in (*files.record.remarks, *files.record.notes):
        warn(remark)
    try:
        if request.as_json:
            say(files.document.decode().rstrip())
        else:
            if files.written:
                say("wrote      " + ", ".join(map(str, files.written)))
            for line in _summary(request, found).splitlines():
                say(line)
    except FlexNetError as error:  # what could not be written is told all the same
        return [str(error)]
    return []


def _summary(request: SearchRequest, found: "Found") -> str:
    """What was found; without what takes long to tell, if nobody waits for it any more."""
    from flexnet.interrupts import GivenUp

    try:
        return found.summary(request.gpu)
    except GivenUp:
        with undisturbed():
            return replace(found, interrupted=True).summary(request.gpu)


@dataclass(slots=True)
class _Watch:
    """Looks on after every proposal: progress, and a checkpoint now and then."""

    files: "RunFiles"
    ready: "Prepared"
    display: Display
    earlier: "Earlier | None"
    history: "History"
    save_at: float = field(default_factory=lambda: time.monotonic() + FIRST_CHECKPOINT_S)
    failed: bool = False
    problems: list[str] = field(default_factory=list)
    bounding: "Bounding | None" = None
    beside: bool = True  # the bound is proven beside the search, for nothing is compiled there

    def __post_init__(self) -> None:
        request = self.files.record.request
        is_shown = self.display.live and not request.as_json
        if is_shown or (self.beside and request.settings.jobs < n_core()):
            from flexnet.search.bounding import Bounding

            self.bounding = Bounding(self.ready) if Bounding.possible() else None

    def proven(self, wait: bool) -> "Bound | None":
        """The bound, if it is being proven beside the search: what there is by now, or once it is there."""
        if self.bounding is None:
            return None
        return self.bounding.wait() if wait else self.bounding.poll()

    @property
    def earlier_s(self) -> float:
        """Seconds spent proposing before the search was resumed."""
        return self.earlier.search_s if self.earlier is not None else 0.0

    def observe(self, progress: "Progress", state: "State", info: "Info") -> None:
        """Look at the state after a proposal."""
        self.history.observe(progress, state, info)
        try:
            self._show(progress, state, info)
        except FlexNetError as error:  # a full disk or a closed terminal must not end a search that is under way
            self.problems.append(str(error))
        if time.monotonic() < self.save_at or self.failed:
            return
        try:
            with undisturbed():
                self.files.save_progress(self.ready, state, self.history, self.earlier_s + progress.elapsed)
        except FlexNetError as error:
            warn(f"{error}; the search goes on without checkpoints")
            self.failed = True
        self.save_at = time.monotonic() + CHECKPOINT_S

    def _show(self, progress: "Progress", state: "State", info: "Info") -> None:
        if self.files.record.request.as_json:
            return
        trend = None
        if self.display.live:
            bound = self.proven(wait=False)
            best = [(point.elapsed, point.best) for point in self.history.points]
            trying = info.tried or f"{len(state.chains)} jobs"
            trend = Trend(trying, None if bound is None else bound.seconds, best)
        self.display.show(state.iteration, state.current.seconds, state.best.seconds, progress, trend)

    def clear(self) -> None:
        """Remove the live line, if there is still a terminal."""
        try:
            self.display.clear()
        except FlexNetError as error:
            self.problems.append(str(error))

    def end(self) -> None:
        """End what goes on beside the search."""
        if self.bounding is not None:
            self.bounding.stop()
