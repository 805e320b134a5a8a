"""Search over strategies and networks."""

from flexnet.choices import TOPOLOGIES
from flexnet.search.alternate import CoSearch, Info, Plan, State
from flexnet.search.driver import Outcome, Progress, drive
from flexnet.search.find import Found, Prepared, Settings, find_plan, prepare

__all__ = [
    "TOPOLOGIES",
    "CoSearch",
    "Found",
    "Info",
    "Outcome",
    "Plan",
    "Prepared",
    "Progress",
    "Settings",
    "State",
    "drive",
    "find_plan",
    "prepare",
]
