"""The topology families, one file each behind the contract of `flexnet.network.family`.

What comes in is a number of servers, for some a demand, and a generator of random numbers; what goes out is a
`flexnet.network.topology.Topology`.  A new family is a file here, and a line below.  May import what `flexnet.network`
may, and what lies there.
"""

from typing import TYPE_CHECKING

from flexnet.registry import Registry

if TYPE_CHECKING:
    from flexnet.network.family import TopologyFamily

__all__ = ["DRAWINGS", "TOPOLOGIES"]

DRAWINGS = (".graphml", ".json")
"""How names of files end that networks are drawn in; see `flexnet.network.graph_file`."""

TOPOLOGIES: "Registry[type[TopologyFamily]]" = Registry(
    "topology",
    {
        "topoopt": "flexnet.network.topologies.topoopt:TopoOpt",
        "fattree": "flexnet.network.topologies.fattree:FatTree",
        "random": "flexnet.network.topologies.random_graph:RandomGraph",
        "fc": "flexnet.network.topologies.full_mesh:FullMesh",
        "star": "flexnet.network.topologies.fattree:FatTree",
        "leafspine": "flexnet.network.topologies.leafspine:LeafSpine",
        "kary": "flexnet.network.topologies.kary:KaryFatTree",
    },
)
"""Topology families by the name that ``--topology`` takes."""
