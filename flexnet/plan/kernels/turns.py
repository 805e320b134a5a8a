"""Transfers between two servers one after the other (`flexnet.plan.turns`)."""

import numpy as np

from flexnet.kernels import inlined
from flexnet.plan.kernels.records import add_record

__all__ = ["let_take_turns"]


@inlined
def let_take_turns(problem, work, first, n_task):  # type: ignore[no-untyped-def]
    """Let transfers wait for those between the same servers that come first (`flexnet.plan.turns`).

    They are there by consumer, forward and backward in turn; of several for one operator the last one counts.
    """
    latest, earlier, rank, needed = work.latest, work.earlier, work.rank, problem.needed
    latest[:] = -1
    for there in range(first, n_task, 2):
        task = np.uint32(there)
        if work.bytes[task] >= problem.turn_bytes:
            pair, op = np.uint32(work.place[task]), np.uint32(rank[task] // 2)
            other = latest[pair]
            while other >= 0 and not needed[op, np.uint32(rank[np.uint32(other)] // 2)]:
                other = earlier[np.uint32(other)]
            if other >= 0:
                add_record(work, other, there)
            earlier[task] = latest[pair]
            latest[pair] = there
    latest[:] = -1
    for back in range(n_task - 1, first, -2):
        task = np.uint32(back)
        if work.bytes[task] >= problem.turn_bytes:
            pair, op = np.uint32(work.place[task]), np.uint32(rank[task] // 2)
            other = latest[pair]
            while other >= 0 and not needed[np.uint32(rank[np.uint32(other)] // 2), op]:
                other = earlier[np.uint32(other)]
            if other >= 0:
                following = earlier[np.uint32(other)]
                while following >= 0 and rank[np.uint32(following)] == rank[np.uint32(other)]:
                    other, following = following, earlier[np.uint32(following)]
                add_record(work, other, back)
            earlier[task] = latest[pair]
            latest[pair] = back
