"""Finds how to cut a DNN over servers and how to wire and route between them, together.

The names programs need are here, room by room from the model to the search; each is imported when it is first used, so
``import flexnet`` is quick.  docs/api.md tells them all.

"The original" is FlexNet, the simulator of TopoOpt (W. Wang et al., NSDI 2023).  What is cited as ``model.cc:2306`` is
a line of its source, github.com/hipersys-team/FlexFlow at commit b1526834; "the packet simulator" is FlexNetPacket,
github.com/Flasew/ffsim-opera, branch ffsim.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flexnet.compare.measure import Measured, measure
    from flexnet.cost.estimate import complete_table
    from flexnet.cost.gpus import GPUS, Gpu
    from flexnet.cost.measurement_file import read_measurement, write_measurement
    from flexnet.cost.roofline import roofline_table
    from flexnet.cost.table import CostTable, Entry
    from flexnet.cost.tensor_parallel import TensorParallel
    from flexnet.errors import FlexNetError
    from flexnet.exact.tensor_parallel import tensor_parallel
    from flexnet.importing.entry import from_onnx, from_torch
    from flexnet.model.builder import GraphBuilder
    from flexnet.model.graph import ModelGraph, Operator, OpType, Source, Tensor
    from flexnet.model.graph_file import read_graph, write_graph
    from flexnet.model.operators import OPERATORS
    from flexnet.model.operators.kind import Arithmetic, Axis, Layer, OperatorKind, Passes, Window
    from flexnet.model.zoo import MODELS, ModelSpec, NoSettings, option
    from flexnet.network.build import build_network, build_topology
    from flexnet.network.cycles import cycles_for, with_cycles
    from flexnet.network.demand import Demand, demand_of
    from flexnet.network.family import TopologyFamily
    from flexnet.network.graph_file import read_topology
    from flexnet.network.link_speeds import LinkSpeeds
    from flexnet.network.network import Network
    from flexnet.network.topologies import TOPOLOGIES
    from flexnet.network.topology import Topology
    from flexnet.network.wiring.propose import propose_network
    from flexnet.network.wiring.wire import wire
    from flexnet.plan.arrays import Strategy, TaskArrays
    from flexnet.plan.cluster import Cluster
    from flexnet.plan.optimizers import OPTIMIZERS
    from flexnet.plan.problem import Problem, make_problem
    from flexnet.plan.semantics import CORRECTED, ORIGINAL, Semantics
    from flexnet.plan.strategy import Config, make_strategy
    from flexnet.plan.strategy_file import read_strategy, strategy_json, strategy_text
    from flexnet.plan.task_graph import TaskGraph
    from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, FORWARD, NOMINAL_COMM
    from flexnet.prices.bill import Bill
    from flexnet.prices.equal import equal_interfaces
    from flexnet.prices.fabrics import Fabric, Interfaces
    from flexnet.prices.table import PriceTable, read_prices
    from flexnet.registry import Registry
    from flexnet.search.candidates import Candidate
    from flexnet.search.driver import Progress
    from flexnet.search.find import find_plan
    from flexnet.search.found import Found
    from flexnet.search.moves import MOVES
    from flexnet.search.moves.move import Move
    from flexnet.search.moves.space import MoveSpace
    from flexnet.search.outputs import OUTPUTS
    from flexnet.search.outputs.output import Output
    from flexnet.search.plan import Plan, price
    from flexnet.search.settings import Settings
    from flexnet.search.starts import STARTS
    from flexnet.search.starts.start import Bound, Start, StartPoints, bound_of
    from flexnet.search.state import Info, State
    from flexnet.simulate import LINK_MODELS
    from flexnet.simulate.arrays import FlowRoutes, NetworkArrays
    from flexnet.simulate.link_model import LinkModel, Timeline
    from flexnet.simulate.phases import Phase
    from flexnet.simulate.protocol import FLUID, PACKET, TCP, Protocol
    from flexnet.simulate.replay import replay
    from flexnet.simulate.replay_report import Replay
    from flexnet.sweep.store import read_rows
    from flexnet.taskgraph_file.read import read_taskgraph
    from flexnet.units import gbps_to_bytes_per_s, us_to_s

__all__ = [
    "ALLREDUCE",
    "BACKWARD",
    "CORRECTED",
    "FLUID",
    "FORWARD",
    "GPUS",
    "LINK_MODELS",
    "MODELS",
    "MOVES",
    "NOMINAL_COMM",
    "OPERATORS",
    "OPTIMIZERS",
    "ORIGINAL",
    "OUTPUTS",
    "PACKET",
    "STARTS",
    "TCP",
    "TOPOLOGIES",
    "Arithmetic",
    "Axis",
    "Bill",
    "Bound",
    "Candidate",
    "Cluster",
    "Config",
    "CostTable",
    "Demand",
    "Entry",
    "Fabric",
    "FlexNetError",
    "FlowRoutes",
    "Found",
    "Gpu",
    "GraphBuilder",
    "Info",
    "Interfaces",
    "Layer",
    "LinkModel",
    "LinkSpeeds",
    "Measured",
    "ModelGraph",
    "ModelSpec",
    "Move",
    "MoveSpace",
    "Network",
    "NetworkArrays",
    "NoSettings",
    "OpType",
    "Operator",
    "OperatorKind",
    "Output",
    "Passes",
    "Phase",
    "Plan",
    "PriceTable",
    "Problem",
    "Progress",
    "Protocol",
    "Registry",
    "Replay",
    "Semantics",
    "Settings",
    "Source",
    "Start",
    "StartPoints",
    "State",
    "Strategy",
    "TaskArrays",
    "TaskGraph",
    "Tensor",
    "TensorParallel",
    "Timeline",
    "Topology",
    "TopologyFamily",
    "Window",
    "bound_of",
    "build_network",
    "build_topology",
    "complete_table",
    "cycles_for",
    "demand_of",
    "equal_interfaces",
    "find_plan",
    "from_onnx",
    "from_torch",
    "gbps_to_bytes_per_s",
    "make_problem",
    "make_strategy",
    "measure",
    "option",
    "price",
    "propose_network",
    "read_graph",
    "read_measurement",
    "read_prices",
    "read_rows",
    "read_strategy",
    "read_taskgraph",
    "read_topology",
    "replay",
    "roofline_table",
    "strategy_json",
    "strategy_text",
    "tensor_parallel",
    "us_to_s",
    "wire",
    "with_cycles",
    "write_graph",
    "write_measurement",
]

_HOMES = {
    "model.graph": ("ModelGraph", "Operator", "OpType", "Source", "Tensor"),
    "model.builder": ("GraphBuilder",),
    "model.operators": ("OPERATORS",),
    "model.operators.kind": ("Arithmetic", "Axis", "Layer", "OperatorKind", "Passes", "Window"),
    "model.graph_file": ("read_graph", "write_graph"),
    "importing.entry": ("from_onnx", "from_torch"),
    "model.zoo": ("MODELS", "ModelSpec", "NoSettings", "option"),
    "cost.gpus": ("GPUS", "Gpu"),
    "cost.table": ("CostTable", "Entry"),
    "cost.measurement_file": ("read_measurement", "write_measurement"),
    "cost.roofline": ("roofline_table",),
    "cost.estimate": ("complete_table",),
    "cost.tensor_parallel": ("TensorParallel",),
    "exact.tensor_parallel": ("tensor_parallel",),
    "plan.cluster": ("Cluster",),
    "plan.semantics": ("CORRECTED", "ORIGINAL", "Semantics"),
    "plan.optimizers": ("OPTIMIZERS",),
    "plan.problem": ("Problem", "make_problem"),
    "plan.arrays": ("Strategy", "TaskArrays"),
    "plan.strategy": ("Config", "make_strategy"),
    "plan.strategy_file": ("read_strategy", "strategy_json", "strategy_text"),
    "plan.task_kinds": ("ALLREDUCE", "BACKWARD", "FORWARD", "NOMINAL_COMM"),
    "plan.task_graph": ("TaskGraph",),
    "network.topology": ("Topology",),
    "network.link_speeds": ("LinkSpeeds",),
    "network.network": ("Network",),
    "network.demand": ("Demand", "demand_of"),
    "network.family": ("TopologyFamily",),
    "network.topologies": ("TOPOLOGIES",),
    "network.cycles": ("cycles_for", "with_cycles"),
    "network.build": ("build_network", "build_topology"),
    "network.wiring.wire": ("wire",),
    "network.wiring.propose": ("propose_network",),
    "network.graph_file": ("read_topology",),
    "simulate": ("LINK_MODELS",),
    "simulate.arrays": ("FlowRoutes", "NetworkArrays"),
    "simulate.link_model": ("LinkModel", "Timeline"),
    "simulate.protocol": ("FLUID", "PACKET", "TCP", "Protocol"),
    "simulate.phases": ("Phase",),
    "simulate.replay_report": ("Replay",),
    "simulate.replay": ("replay",),
    "taskgraph_file.read": ("read_taskgraph",),
    "search.settings": ("Settings",),
    "search.find": ("find_plan",),
    "search.driver": ("Progress",),
    "search.alternate": ("Info", "State"),
    "search.candidates": ("Candidate",),
    "search.found": ("Found",),
    "search.plan": ("Plan", "price"),
    "search.moves": ("MOVES",),
    "search.moves.move": ("Move",),
    "search.moves.space": ("MoveSpace",),
    "search.starts": ("STARTS",),
    "search.starts.start": ("Bound", "Start", "StartPoints", "bound_of"),
    "search.outputs": ("OUTPUTS",),
    "search.outputs.output": ("Output",),
    "prices.table": ("PriceTable", "read_prices"),
    "prices.bill": ("Bill",),
    "prices.fabrics": ("Fabric", "Interfaces"),
    "prices.equal": ("equal_interfaces",),
    "compare.measure": ("Measured", "measure"),
    "sweep.store": ("read_rows",),
    "registry": ("Registry",),
    "errors": ("FlexNetError",),
    "units": ("gbps_to_bytes_per_s", "us_to_s"),
}
"""Public names by the module that has them, in the order in which data flows."""


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"flexnet.{module}"), name)
    raise AttributeError(f"module 'flexnet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
