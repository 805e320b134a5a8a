"""Output formats: the files a plan is written to.

Contract: `output`; every format is a file of its own.  What comes in is a plan (`flexnet.search.plan`), what goes out
is a file, whole or not at all, and remarks.  ``flexnet search -o DIR`` writes every file that is named below.  May
import `plan`, `network`, `simulate`, `taskgraph_file` and what lies below them.
"""

from typing import TYPE_CHECKING

from flexnet.registry import Registry

if TYPE_CHECKING:
    from flexnet.search.outputs.output import Output

__all__ = ["OUTPUTS"]

OUTPUTS: "Registry[type[Output]]" = Registry(
    "output",
    {
        "strategy.json": "flexnet.search.outputs.strategy:StrategyJson",
        "taskgraph.fbuf": "flexnet.search.outputs.taskgraph:TaskGraphFbuf",
        "plan.npz": "flexnet.search.outputs.plan_arrays:PlanNpz",
    },
)
"""Output formats by the name of the file in ``-o DIR``."""
