"""The task graph of one training iteration, as arrays."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.plan.arrays import TaskArrays
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, FORWARD, NOMINAL_COMM

__all__ = ["TaskGraph"]


@dataclass(frozen=True, slots=True, eq=False)
class TaskGraph:
    """Tasks in the original's creation order, see `flexnet.plan.kernels.build`.

    Parameters
    ----------
    n_server : int
    kind : int8 (n_task,)
        FORWARD 0, BACKWARD 1, NOMINAL_COMM 5 (a transfer), ALLREDUCE 6.
    place : int32 (n_task,)
        Compute: its server.  Transfer: ``src * n_server + dst``.  All-reduce: its number in creation order.
    seconds : float64 (n_task,)
        Compute: run time.  All-reduce: time inside the servers.  Transfer: 0.
    bytes : int64 (n_task,)
        Of transfers and all-reduces (bytes of the tensor on one replica).
    succ_ptr, succ : int32 (n_task + 1,), (n_edge,)
        Successors; an all-reduce has none.
    group_ptr, group : int32 (n_allreduce + 1,), (n_member,)
        Member servers of every all-reduce, in ring order.
    op : int32 (n_task,)
        Operator a task belongs to (a transfer belongs to its consumer); -1 if unknown.
    rank : int32 (n_task,) or None
        Order in which a server runs tasks that become ready at the same instant; None: by operator, then kind.
    """

    n_server: int
    kind: npt.NDArray[np.int8]
    place: npt.NDArray[np.int32]
    seconds: npt.NDArray[np.float64]
    bytes: npt.NDArray[np.int64]
    succ_ptr: npt.NDArray[np.int32]
    succ: npt.NDArray[np.int32]
    group_ptr: npt.NDArray[np.int32]
    group: npt.NDArray[np.int32]
    op: npt.NDArray[np.int32]
    rank: npt.NDArray[np.int32] | None = None

    @property
    def n_task(self) -> int:
        """Number of tasks, all-reduces unexpanded."""
        return len(self.kind)

    def arrays(self) -> TaskArrays:
        """The arrays for a simulation kernel."""
        n_pred = np.bincount(self.succ, minlength=self.n_task).astype(np.int32)
        return TaskArrays(
            self.kind,
            self.place,
            self.seconds,
            self.bytes,
            2 * self.op + (self.kind == BACKWARD) if self.rank is None else self.rank,
            self.succ_ptr,
            self.succ,
            n_pred,
            self.group_ptr,
            self.group,
        )

    def successors(self, task: int) -> npt.NDArray[np.int32]:
        """Successors of one task."""
        return self.succ[self.succ_ptr[task] : self.succ_ptr[task + 1]]

    def members(self, task: int) -> npt.NDArray[np.int32]:
        """Member servers of an all-reduce task."""
        group = self.place[task]
        return self.group[self.group_ptr[group] : self.group_ptr[group + 1]]

    def check(self) -> None:
        """Say whether the graph is legal.

        Raises
        ------
        FlexNetError
            If a task has an unknown kind or place, a negative or non-finite time, a transfer goes nowhere or
            carries nothing, an all-reduce has successors or an empty group, or tasks wait for each other in a cycle.
        """
        n = self.n_task
        kinds = (FORWARD, BACKWARD, NOMINAL_COMM, ALLREDUCE)
        _refuse(~np.isin(self.kind, kinds), f"has an unknown kind; known are {kinds}")
        _refuse(~np.isfinite(self.seconds) | (self.seconds < 0), "has a time that is negative or not finite")
        comm = self.kind == NOMINAL_COMM
        reduce_ = self.kind == ALLREDUCE
        places = np.where(comm, self.n_server**2, np.where(reduce_, len(self.group_ptr) - 1, self.n_server))
        _refuse((self.place < 0) | (self.place >= places), "is on a server, pair or group that does not exist")
        _refuse(comm & (self.place // self.n_server == self.place % self.n_server), "sends to its own server")
        _refuse(comm & (self.bytes <= 0), "transfers no bytes")
        _refuse((self.bytes < 0), "has a negative size")
        _refuse(reduce_ & (np.diff(self.succ_ptr) > 0), "is an all-reduce with successors")
        if len(self.group) and (self.group.min() < 0 or self.group.max() >= self.n_server):
            raise FlexNetError(f"an all-reduce has a member outside servers 0 to {self.n_server - 1}")
        for group, (begin, end) in enumerate(zip(self.group_ptr[:-1], self.group_ptr[1:], strict=True)):
            if end <= begin:
                raise FlexNetError(f"all-reduce {group} has an empty group")
            if len(set(self.group[begin:end].tolist())) != end - begin:
                raise FlexNetError(f"all-reduce {group} has a server twice in its group")
        if len(self.succ) and (self.succ.min() < 0 or self.succ.max() >= n):
            raise FlexNetError(f"a task points at a successor outside 0 to {n - 1}")
        self._refuse_cycles()

    def _refuse_cycles(self) -> None:
        waiting = np.bincount(self.succ, minlength=self.n_task)
        stack = np.flatnonzero(waiting == 0).tolist()
        done = 0
        while stack:
            task = stack.pop()
            done += 1
            for succ in self.successors(task).tolist():
                waiting[succ] -= 1
                if waiting[succ] == 0:
                    stack.append(succ)
        if done < self.n_task:
            stuck = int(np.flatnonzero(waiting > 0)[0])
            raise FlexNetError(f"task {stuck} is part of, or waits for, a cycle of tasks")


def _refuse(bad: npt.NDArray[np.bool_], what: str) -> None:
    if bad.any():
        raise FlexNetError(f"task {int(np.flatnonzero(bad)[0])} {what}")
