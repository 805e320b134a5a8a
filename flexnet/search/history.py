"""How a search went: best and current over seconds, by start and by what was tried, in a few hundred points."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from flexnet.errors import FlexNetError
from flexnet.files import read_object
from flexnet.search.driver import Progress
from flexnet.search.state import Info, State, Tally
from flexnet.units import s_to_ms

__all__ = ["HISTORY", "History", "Point", "read_history"]

HISTORY = "history.json"
"""Its file in the directory of a search."""

FORMAT = "flexnet-history"
VERSION = 2
MOST_POINTS = 600  # that are kept; when there are more, every second goes that is no improvement


class Point(NamedTuple):
    """Where a search stood: times in seconds; ``origin`` is the start the best descends from, ``tried`` what gave it.

    ``tried`` is empty where the best is that of the point before.
    """

    elapsed: float
    proposals: int
    current: float
    best: float
    origin: str
    tried: str


@dataclass(slots=True)
class History:
    """Looks on after every proposal.

    Parameters
    ----------
    points : list of Point
        The start first.
    tallies : dict of str to Tally
        By what was tried, see `Info`.
    starts : list of (str, float)
        What kind every start is, and its iteration time in seconds as far as it was priced.
    earlier_s : float
        Seconds spent before the search was resumed.
    improved_at : int or None
        Proposals made when the best plan was found; None if that is the start.
    best : float
        Seconds of the best plan so far, which points have rounded once they were written.
    """

    points: list[Point]
    tallies: dict[str, Tally] = field(default_factory=dict)
    starts: list[tuple[str, float]] = field(default_factory=list)
    earlier_s: float = 0.0
    improved_at: int | None = None
    best: float = float("inf")
    _spacing: float = 0.0

    @classmethod
    def begin(cls, state: State) -> "History":
        """Of a search that stands at its start."""
        first = state.current
        point = Point(0.0, state.iteration, first.seconds, state.best.seconds, first.origin, "start")
        return cls([point], starts=[(first.origin, first.seconds)], best=state.best.seconds)

    @property
    def last(self) -> Point:
        """The newest point."""
        return self.points[-1]

    def observe(self, progress: Progress, state: State, info: Info) -> None:
        """Note a proposal, or what many came to."""
        gained = max(self.best - state.best.seconds, 0.0)
        if gained > 0:
            self.improved_at, self.best = state.iteration, state.best.seconds
        tallies = info.tallies
        if tallies is None:
            tallies = {info.tried: Tally(1, int(info.accepted), int(info.improved), gained)}
        self.starts += info.starts
        for name, tally in tallies.items():
            self.tallies[name] = self.tallies.get(name, Tally()).plus(tally)
        elapsed = self.earlier_s + progress.elapsed
        if gained > 0 or elapsed - self.points[-1].elapsed >= self._spacing:
            tried = max(tallies, key=lambda name: tallies[name].gained) if gained > 0 else ""
            best = state.best
            self.points.append(Point(elapsed, state.iteration, state.current.seconds, best.seconds, best.origin, tried))
            if len(self.points) > MOST_POINTS:
                self._thin(elapsed)

    def to_json(self) -> bytes:
        """The history as ``history.json`` has it; times of plans in ms."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "columns": ["search_s", "proposals", "current_ms", "best_ms", "start", "tried"],
            "points": [
                [round(p.elapsed, 4), p.proposals, _ms(p.current), _ms(p.best), p.origin, p.tried] for p in self.points
            ],
            "tried": {
                name: {
                    "proposals": tally.proposals,
                    "accepted": tally.accepted,
                    "improved": tally.improved,
                    "gained_ms": _ms(tally.gained),
                }
                for name, tally in sorted(self.tallies.items())
            },
            "starts": [[name, _ms(seconds)] for name, seconds in self.starts],
            "improved_at": self.improved_at,
        }
        return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "History":
        """What `to_json` wrote.

        Raises
        ------
        ValueError, KeyError, TypeError
            If it did not.
        """
        if (document["format"], document["version"]) != (FORMAT, VERSION):
            raise ValueError(f"it is no {FORMAT} of version {VERSION}")
        points = [
            Point(float(s), int(n), float(current) / 1e3, float(best) / 1e3, str(origin), str(tried))
            for s, n, current, best, origin, tried in document["points"]
        ]
        if not points:
            raise ValueError("it has no points")
        if not all(math.isfinite(x) for one in points for x in (one.elapsed, one.current, one.best)):
            raise ValueError("a time of its points is no finite number")
        tallies = {
            str(name): Tally(
                int(item["proposals"]), int(item["accepted"]), int(item["improved"]), float(item["gained_ms"]) / 1e3
            )
            for name, item in document["tried"].items()
        }
        starts = [(str(name), float(ms) / 1e3) for name, ms in document["starts"]]
        improved_at = document["improved_at"]
        return cls(
            points,
            tallies,
            starts,
            earlier_s=points[-1].elapsed,
            improved_at=None if improved_at is None else int(improved_at),
            best=points[-1].best,
        )

    def _thin(self, elapsed: float) -> None:
        """Drop every second point that is no improvement, and keep fewer from now on."""
        kept = [point for i, point in enumerate(self.points[1:-1]) if point.tried or i % 2]
        if len(kept) > MOST_POINTS // 2:  # improvements alone are too many: the first and last of them tell most
            kept = kept[::2]
        self.points = [self.points[0], *kept, self.points[-1]]
        self._spacing = max(2 * self._spacing, elapsed / (MOST_POINTS // 2))


def read_history(path: Path) -> History:
    """What a search wrote of how it went.

    Raises
    ------
    FlexNetError
        If the file cannot be read, or is damaged.
    """
    try:
        return History.from_json(read_object(path, "history"))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, FlexNetError):
            raise
        raise FlexNetError(f"history {path} is damaged: {error}") from None


def _ms(seconds: float) -> float:
    return round(float(s_to_ms(seconds)), 6)
