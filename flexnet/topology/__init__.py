"""Topologies, routes over them, and the networks they make."""

from flexnet.topology.base import Network, Routes, Topology, connect
from flexnet.topology.coinchange import coin_rings, coin_table
from flexnet.topology.demand import Demand
from flexnet.topology.fattree import fat_tree
from flexnet.topology.full_mesh import full_mesh
from flexnet.topology.matching import add_matchings, match
from flexnet.topology.paths import Drawn, Paths, draw_shortest
from flexnet.topology.random_graph import random_graph
from flexnet.topology.routing import (
    all_shortest_paths,
    circulant_coins,
    coin_change_routes,
    routes_for,
    shortest_routes,
)
from flexnet.topology.tiers import kary_fat_tree, kary_ports, leaf_spine
from flexnet.topology.topoopt import build_topoopt
from flexnet.topology.totient import group_sizes, select_jumps, totient_jumps

__all__ = [
    "Demand",
    "Drawn",
    "Network",
    "Paths",
    "Routes",
    "Topology",
    "add_matchings",
    "all_shortest_paths",
    "build_topoopt",
    "circulant_coins",
    "coin_change_routes",
    "coin_rings",
    "coin_table",
    "connect",
    "draw_shortest",
    "fat_tree",
    "full_mesh",
    "group_sizes",
    "kary_fat_tree",
    "kary_ports",
    "leaf_spine",
    "match",
    "random_graph",
    "routes_for",
    "select_jumps",
    "shortest_routes",
    "totient_jumps",
]
