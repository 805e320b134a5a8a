"""What a running command shows: a live line on a terminal, elsewhere some ten plain lines, one a minute at least."""

import sys
import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flexnet.commands.console.printing import printing, say
from flexnet.errors import FlexNetError
from flexnet.units import duration_text, rate_text, s_to_ms

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from flexnet.search.driver import Progress

__all__ = ["Display", "Trend", "sparkline", "waiting"]

REFRESH_S = 0.1
LINES = 10  # plain lines of a whole search, and one more wherever there was none for so many seconds:
QUIET_S = 60.0


SPARKS = "▁▂▃▄▅▆▇█"
SPARKS_WIDE = 12


@dataclass(frozen=True, slots=True)
class Trend:
    """How a search goes: what was tried last, the bound in seconds if it is known, and when the best was how good."""

    trying: str
    bound: float | None
    best: Sequence[tuple[float, float]]

    def text(self, current: float, best: float, speed: float, left: float) -> str:
        """A line that says most first, for it may be cut."""
        gap = f" ({best / self.bound:.2f}x the bound)" if self.bound else ""
        words = (
            f"best {s_to_ms(best):.3f} ms{gap} {sparkline(self.best)} {self.trying:<11} current {s_to_ms(current):.3f}"
        )
        return f"{words}, {rate_text(speed)}/s" + (f", {duration_text(left)} left" if left < float("inf") else "")


def sparkline(points: Sequence[tuple[float, float]], width: int = SPARKS_WIDE) -> str:
    """Values over time as a row of bars, each that of the newest point by then.

    >>> sparkline([(0.0, 4.0), (1.0, 2.0), (3.0, 1.0)], 4)
    '█▃▃▁'
    """
    times, values = [at for at, _ in points], [value for _, value in points]
    least, most = min(values), max(values)
    at = [times[-1] * i / max(width - 1, 1) for i in range(width)]
    shown = [values[max(bisect_right(times, when) - 1, 0)] for when in at]
    top = len(SPARKS) - 1
    return "".join(SPARKS[round(top * (value - least) / (most - least)) if most > least else 0] for value in shown)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show that something goes on that has no steps, if there is a terminal."""
    if not sys.stdout.isatty():
        yield
        return
    from rich.console import Console

    status = Console().status(what)
    with suppress(FlexNetError), printing():  # nothing is lost by a terminal that is gone
        status.start()
    try:
        yield
    finally:
        with suppress(FlexNetError), printing():
            status.stop()


class Display:
    """Progress of a search: one live line on a terminal, elsewhere some ten plain lines, and one a minute at least.

    Parameters
    ----------
    total : int or None
        Proposals of the whole search, if that is known.
    done : int
        Proposals made before now.
    """

    def __init__(self, total: int | None, done: int = 0) -> None:
        self._total = total
        self._live = sys.stdout.isatty()
        self._bar: Bar | None = None
        self._shown_at = time.monotonic()
        self._step = max((total or 0) // LINES, 1)
        self._shown_step = self._steps_of(done) if total is not None else 0

    @property
    def live(self) -> bool:
        """Whether there is a terminal."""
        return self._live

    def show(
        self, iteration: int, current: float, best: float, progress: "Progress", trend: "Trend | None" = None
    ) -> None:
        """Show the state after a proposal, if it is time to.

        Parameters
        ----------
        iteration : int
            Proposals made.
        current, best : float
            Iteration times of the current and the best plan, seconds.
        progress : Progress
            Speed, and how much is over.
        trend : Trend, optional
            What only a terminal is told of.
        """
        if self._is_time(self._steps_of(iteration, progress)):
            speed, left = progress.proposals_per_s, progress.left_s
            if self._live and trend is not None:
                self._show(iteration, trend.text(current, best, speed, left))
                return
            times = f"current {s_to_ms(current):.3f} ms, best {s_to_ms(best):.3f} ms, {rate_text(speed)} proposals/s"
            self._show(iteration, times + (f", {duration_text(left)} left" if left < float("inf") else ""))

    def show_step(self, n_done: int, what: str, left: float) -> None:
        """Show a step of something else, if it is time to: how many are done, what was, and seconds left."""
        if self._is_time(self._steps_of(n_done)):
            self._show(n_done, f"{what}, {duration_text(left)} left")

    def _steps_of(self, n_done: int, progress: "Progress | None" = None) -> int:
        """Plain lines that are due: a tenth of the search each, or another whenever the proposals have doubled."""
        if progress is not None and progress.limit < float("inf"):
            return int(progress.share * LINES)
        return n_done // self._step if self._total is not None else n_done.bit_length()

    def _is_time(self, step: int) -> bool:
        if self._live:
            if time.monotonic() - self._shown_at < REFRESH_S:
                return False
        elif step == self._shown_step and time.monotonic() - self._shown_at < QUIET_S:
            return False
        self._shown_at = time.monotonic()
        self._shown_step = step
        return True

    def _show(self, n_done: int, text: str) -> None:
        if not self._live:
            say(f"{n_done} of {self._total}: {text}" if self._total is not None else f"{n_done}: {text}")
            return
        with printing():
            if self._bar is None:
                self._bar = _bar(self._total)
            self._bar.update(self._bar.task_ids[0], completed=n_done, text=text, refresh=True)

    def clear(self) -> None:
        """Remove the live line."""
        if self._bar is not None:
            with printing():
                self._bar.stop()
            self._bar = None


def _bar(total: int | None) -> "Bar":
    """A line with a bar, which disappears when it is stopped."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.table import Column

    text = TextColumn("{task.fields[text]}", markup=False, table_column=Column(no_wrap=True, ratio=1))
    columns = MofNCompleteColumn(), BarColumn(bar_width=12), text
    bar = Progress(*columns, console=Console(), auto_refresh=False, transient=True, expand=True)
    bar.add_task("", total=total, text="")
    bar.start()
    return bar
