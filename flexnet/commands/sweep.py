"""``flexnet sweep FILE.toml``: many points, each computed once, into one table."""

import time
from signal import SIGINT
from typing import TYPE_CHECKING, Any

import click

from flexnet.commands.console.printing import say, warn
from flexnet.commands.console.progress import Display
from flexnet.commands.console.signals import raising
from flexnet.commands.requests.flags import Command
from flexnet.commands.requests.sweep import SWEEP_FLAGS, SweepRequest, sweep_request
from flexnet.errors import FlexNetError, counted

if TYPE_CHECKING:
    from flexnet.sweep.store import Store
    from flexnet.sweep.task import Task

__all__ = ["sweep"]


def _sweep(words: tuple[str, ...], **values: Any) -> int:
    """Searches all combinations of models, networks, bandwidths, degrees, seeds and budgets that a TOML file names.

    Every point is kept when it is finished, under the hash of all that decides it: the same command goes on where the
    last one stopped.
    """
    request = sweep_request(words, values)

    from flexnet.commands.runs.directory import one_writer
    from flexnet.commands.runs.versions import versions
    from flexnet.sweep.store import Store, key_of
    from flexnet.sweep.task import Task

    version = versions()["flexnet"]
    tasks = {}
    for point in request.points:
        key = key_of({**point, "files": None, "flexnet": version})  # what files hold decides, not where they are
        tasks[key] = Task(key, point)
    store = Store(request.output)
    waiting = [task for key, task in tasks.items() if not store.has(key)]
    say(f"{request.title}: {counted(len(tasks), 'point')}, {len(tasks) - len(waiting)} of them done before")
    if request.only_list:
        for key, task in tasks.items():
            say(f"{'done' if store.has(key) else '    '}  {_name(task)}")
        return 0
    if request.scheduler is not None and waiting:
        from flexnet.sweep.cluster import check_scheduler

        check_scheduler(request.scheduler)
    with one_writer(request.output), raising() as stopped:
        token, shown = store.open(), {key: key for key in tasks}
        try:
            failed = _computed(request, waiting, store, token) if waiting else []
            failed += _carried(request, tasks, shown, store, token)
        except KeyboardInterrupt:
            if stopped.signal in (None, SIGINT):
                raise
            return stopped.status
        finally:  # whatever happens, of what there is
            written = store.write_tables(shown.values())
            if written:
                say("wrote " + ", ".join(map(str, written)))
    if failed:
        raise FlexNetError(f"{counted(len(failed), 'point')} of {len(tasks)} could not be computed: {failed[0]}")
    return 0


sweep = Command(
    "sweep",
    params=[click.Argument(["words"], nargs=-1, metavar="FILE", required=False, type=click.Path()), *SWEEP_FLAGS],
    callback=_sweep,
    help=_sweep.__doc__,
)


def _computed(request: SweepRequest, waiting: "list[Task]", store: "Store", token: str) -> list[str]:
    """Compute what is not there; sentences on what could not be."""
    from flexnet.commands.runs.point import WORK

    display, began, n_done = Display(len(waiting)), time.monotonic(), 0
    failed: list[str] = []

    def done(task: "Task", problem: str) -> None:
        nonlocal n_done
        n_done += 1
        if problem:
            failed.append(f"{_name(task)}: {problem}")
            warn(failed[-1])
        left = (time.monotonic() - began) / n_done * (len(waiting) - n_done)
        display.show_step(n_done, _name(task) + (f", {len(failed)} failed" if failed else ""), left)

    try:
        if request.scheduler is not None:
            from flexnet.sweep.cluster import compute_there

            compute_there(waiting, WORK, store, token, scheduler=request.scheduler, done=done)
        else:
            from flexnet.sweep.local import compute_here

            compute_here(waiting, WORK, store, token, n_worker=request.jobs, retries=request.retries, done=done)
    except KeyboardInterrupt:
        warn(f"stopped after {n_done} of {counted(len(waiting), 'point')}; the same command goes on from here")
        raise
    finally:
        display.clear()
    return failed


def _carried(
    request: SweepRequest, tasks: "dict[str, Task]", shown: dict[str, str], store: "Store", token: str
) -> list[str]:
    """Search again, from the plans of points with less, what is slower than those; sentences on what could not be.

    ``shown`` is, for every point, the key of the row that counts, and is changed.
    """
    from flexnet.sweep.carry import faster_with_less
    from flexnet.sweep.store import PLAN, key_of
    from flexnet.sweep.task import Task

    tried: set[tuple[str, str]] = set()
    failed: list[str] = []
    points = {key: task.point for key, task in tasks.items()}
    while True:
        rows = {key: row for key in tasks for row in store.rows([shown[key]]) if PLAN in row}
        slow = list(faster_with_less(points, {key: row["iteration_ms"] for key, row in rows.items()}))
        again = {}
        for key, less in slow:
            if less not in again and (key, shown[less]) not in tried:
                tried.add((key, shown[less]))
                start = f"{points[less]['degree']} x {points[less]['bandwidth']:g} Gbps"
                point = {**points[key], "known": rows[less][PLAN], "warm_start": start}
                again[key] = Task(key_of({**point, "files": None, "from": [key, shown[less]]}), point)
        if not again:
            return failed
        waiting = [task for task in again.values() if not store.has(task.key)]
        if waiting:
            say(f"{counted(len(waiting), 'point')} slower than with less: searched again from the faster plan")
            failed += _computed(request, waiting, store, token)
        for key, task in again.items():
            for row in store.rows([task.key]):
                if row["iteration_ms"] < rows[key]["iteration_ms"]:
                    shown[key] = task.key


def _name(task: "Task") -> str:
    """A point in a few words."""
    point = task.point
    words = [point["model"] or "prices", point["topology"], f"{point['servers']} servers"]
    words += [f"{point['degree']} x {point['bandwidth']:g} Gbps"]
    return " ".join([*words, f"seed {point['seed']}", f"budget {point['budget']}"])
