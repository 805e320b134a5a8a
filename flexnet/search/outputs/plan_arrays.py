"""Plan files."""

from pathlib import Path

from flexnet.files import write_atomically
from flexnet.search.outputs.output import Output
from flexnet.search.plan import Plan
from flexnet.search.plan_file import PlanFile, plan_bytes

__all__ = ["PlanNpz"]


class PlanNpz(Output):
    """Tasks, times and network as they were priced, for ``flexnet report`` and ``flexnet trace``."""

    def write(self, plan: Plan, path: Path) -> tuple[str, ...]:
        """Write all that is to be looked at later."""
        write_atomically(path, plan_bytes(PlanFile.of(plan)))
        return ()
