"""What a search lets choose by name: one home for its settings and the command line, which loads nothing heavy."""

__all__ = ["NETWORKS", "STARTS", "TOPOLOGIES"]

TOPOLOGIES = ("topoopt", "fattree", "random", "fc")
STARTS = ("data", "dp")
NETWORKS = ("fast", "fair")
