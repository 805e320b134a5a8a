"""Starts: where a search begins.

Contract: `start`; every start is a file of its own and a line below.  What comes in is a problem, laid out for moves,
and the topology family; what goes out are strategies, all of which the search prices.  May import `exact`, `network`,
`plan` and what lies below them.
"""

from typing import TYPE_CHECKING

from flexnet.registry import Registry

if TYPE_CHECKING:
    from flexnet.search.starts.start import Start

__all__ = ["STARTS"]

STARTS: "Registry[type[Start]]" = Registry(
    "start",
    {
        "data": "flexnet.search.starts.data_parallel:DataParallel",
        "dp": "flexnet.search.starts.dynamic_programming:DynamicProgramming",
        "groups": "flexnet.search.starts.groups:Groups",
        "cut-groups": "flexnet.search.starts.cut_groups:CutGroups",
        "split-joins": "flexnet.search.starts.split_joins:SplitJoins",
        "heavy": "flexnet.search.starts.heavy:Heavy",
        "heavy-sets": "flexnet.search.starts.heavy_sets:HeavySets",
        "stages": "flexnet.search.starts.stages:Stages",
        "layers": "flexnet.search.starts.layers:Layers",
        "layer-cuts": "flexnet.search.starts.layer_cuts:LayerCuts",
    },
)
"""Starts by the name that ``--start`` takes."""
