"""Finds how to cut a DNN over servers and how to wire and route between them, together.

The names most programs need are here; each is imported when it is first used, so ``import flexnet`` is quick.

"The original" is FlexNet, the simulator of TopoOpt (W. Wang et al., NSDI 2023).  What is cited as ``model.cc:2306`` is
a line of its source, github.com/hipersys-team/FlexFlow at commit b1526834; "the packet simulator" is FlexNetPacket,
github.com/Flasew/ffsim-opera, branch ffsim.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flexnet.builder import GraphBuilder
    from flexnet.cluster import Cluster
    from flexnet.errors import FlexNetError
    from flexnet.export.reader import read_taskgraph
    from flexnet.export.strategy_file import read_strategy, strategy_json, strategy_text
    from flexnet.graph import OpType
    from flexnet.measurement import read_measurement, write_measurement
    from flexnet.models import MODELS
    from flexnet.problem import make_problem
    from flexnet.roofline import roofline_table
    from flexnet.search import Settings, find_plan
    from flexnet.semantics import CORRECTED, ORIGINAL
    from flexnet.units import gbps_to_bytes_per_s, us_to_s

__all__ = [
    "CORRECTED",
    "MODELS",
    "ORIGINAL",
    "Cluster",
    "FlexNetError",
    "GraphBuilder",
    "OpType",
    "Settings",
    "find_plan",
    "gbps_to_bytes_per_s",
    "make_problem",
    "read_measurement",
    "read_strategy",
    "read_taskgraph",
    "roofline_table",
    "strategy_json",
    "strategy_text",
    "us_to_s",
    "write_measurement",
]

_HOMES = {
    "builder": ("GraphBuilder",),
    "cluster": ("Cluster",),
    "errors": ("FlexNetError",),
    "export.reader": ("read_taskgraph",),
    "export.strategy_file": ("read_strategy", "strategy_json", "strategy_text"),
    "graph": ("OpType",),
    "measurement": ("read_measurement", "write_measurement"),
    "models": ("MODELS",),
    "problem": ("make_problem",),
    "roofline": ("roofline_table",),
    "search": ("Settings", "find_plan"),
    "semantics": ("CORRECTED", "ORIGINAL"),
    "units": ("gbps_to_bytes_per_s", "us_to_s"),
}


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"flexnet.{module}"), name)
    raise AttributeError(f"module 'flexnet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
