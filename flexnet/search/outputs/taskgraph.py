"""Task graph files."""

from pathlib import Path

from flexnet.search.outputs.output import Output
from flexnet.search.plan import Plan

__all__ = ["TaskGraphFbuf"]


class TaskGraphFbuf(Output):
    """The flatbuffer that the packet simulator FlexNetPacket and ``flexnet simulate`` read."""

    def write(self, plan: Plan, path: Path) -> tuple[str, ...]:
        """Write the tasks of one iteration, with links, routes and rings."""
        return plan.write_taskgraph(path)
