"""The phases of a replayed iteration: where they begin and end, and how much of each is computing."""

from dataclasses import dataclass

import numpy as np

from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import BACKWARD, FORWARD
from flexnet.simulate.link_model import Timeline

__all__ = ["Phase", "phases_of"]


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the iteration, in seconds; ``compute`` is that of the server that computes longest."""

    name: str
    seconds: float
    compute: float

    @property
    def exposed(self) -> float:
        """Time that server waited for others, not below 0 by rounding."""
        return max(self.seconds - self.compute, 0.0)


def phases_of(graph: TaskGraph, timeline: Timeline) -> tuple[Phase, ...]:
    """Forward: until the last forward task has ended; backward: from then until the last backward task has; all-reduce.

    The last are the all-reduces that are left then; without compute tasks there is nothing else.  Passes of several
    micro-batches take turns, so forward is until that of the last one then, with backward passes of others.
    """
    compute = graph.kind <= BACKWARD
    if not compute.any():
        return (Phase("all-reduce", timeline.seconds, 0.0),)
    busy = np.bincount(graph.place[compute], weights=graph.seconds[compute], minlength=graph.n_server)
    mine = compute & (graph.place == int(np.argmax(busy)))
    start, end = timeline.start[mine], timeline.end[mine]
    marks = [0.0]
    for kind in (FORWARD, BACKWARD):
        marks.append(max(marks[-1], float(timeline.end[graph.kind == kind].max(initial=0.0))))
    marks.append(max(marks[-1], timeline.seconds))
    phases = []
    for name, begin, until in zip(("forward", "backward", "all-reduce"), marks[:-1], marks[1:], strict=True):
        inside = np.clip(end, begin, until) - np.clip(start, begin, until)
        phases.append(Phase(name, until - begin, float(inside.sum())))
    return tuple(phases)
