"""The contract of a link model: how simultaneous flows share links, and so when every task starts and ends."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from flexnet.plan.arrays import TaskArrays
from flexnet.simulate.arrays import FlowRoutes, NetworkArrays

__all__ = ["LinkModel", "Timeline"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """What happened in one iteration: ``seconds`` until the last task ended, and every task's ``start`` and ``end``.

    An all-reduce ends when its last ring does (fair sharing), or with its intra-server part (first in, first out,
    where its flows are tasks of their own).
    """

    seconds: float
    start: Floats
    end: Floats


class LinkModel(ABC):
    """How simultaneous flows share links.

    A model may keep scratch memory from call to call, so that pricing thousands of plans allocates nothing, but what it
    answers depends on its parameters and the arguments alone.  A new one is a subclass in a file of its own and a line
    in `flexnet.simulate.LINK_MODELS`.

    Attributes
    ----------
    name : str
        As in `flexnet.simulate.LINK_MODELS`; empty for one that is not there.
    routes_by_flow : bool
        Whether two flows between the same servers may take different routes (``routes``); otherwise the routes of the
        network, one for each ordered pair of servers, are taken.
    """

    name: ClassVar[str] = ""
    routes_by_flow: ClassVar[bool] = False

    def anew(self) -> "LinkModel":
        """The same model without memory of earlier calls."""
        return self

    @abstractmethod
    def seconds(
        self,
        tasks: TaskArrays,
        network: NetworkArrays,
        *,
        limit: float = np.inf,
        routes: FlowRoutes | None = None,
        directions: npt.NDArray[np.int8] | None = None,
    ) -> float:
        """Iteration time in seconds: when the last task ends.

        Parameters
        ----------
        tasks : TaskArrays
            Of a task graph that `flexnet.plan.task_graph.TaskGraph.check` accepts.
        network : NetworkArrays
            With a route for every transfer.
        limit : float
            Seconds; if the time is above it, some time above it may be returned in its place.
        routes : FlowRoutes, optional
            For models with `routes_by_flow`; None: the routes of pairs.
        directions : int8 (n_allreduce,), optional
            +1 or -1: which way rings over routes run; None: all forwards.
        """

    @abstractmethod
    def timeline(
        self,
        tasks: TaskArrays,
        network: NetworkArrays,
        *,
        routes: FlowRoutes | None = None,
        directions: npt.NDArray[np.int8] | None = None,
    ) -> Timeline:
        """Iteration time with the start and end of every task; arguments as in `seconds`."""
