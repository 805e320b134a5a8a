"""The fastest way for a group of GPUs to share an operator's part, of a whole model at once."""

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from flexnet.cost.configs import every_degrees
from flexnet.cost.estimate import Roofline
from flexnet.cost.memory import held_bytes, readers_of
from flexnet.cost.parts import largest_piece
from flexnet.cost.shape_names import shape_name
from flexnet.cost.table import CostTable, Entry
from flexnet.cost.tensor_parallel import TensorParallel
from flexnet.errors import FlexNetError
from flexnet.exact.solver import solve
from flexnet.exact.tables import evaluate
from flexnet.exact.terms import edge_rows, measured_terms, pair_elements
from flexnet.model.graph import ModelGraph
from flexnet.model.precision import PRECISIONS
from flexnet.plan.arrays import MAX_RANK
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import CORRECTED

__all__ = ["tensor_parallel"]

MEMORY = 2e9  # bytes of tables


def tensor_parallel(
    graph: ModelGraph,
    table: CostTable,
    cluster: Cluster,
    gpus: int,
    *,
    optimizer: str = "sgd",
    micro_batches: int = 1,
    gpu_memory: float | None = None,
    degrees: Sequence[tuple[int, ...]] | None = None,
) -> TensorParallel:
    """The way for groups of ``gpus`` GPUs that is fastest, and how much of what parts read they lack.

    Everything a group does is added up: compute, what its GPUs bring to each other, and the gradients they reduce; with
    as many samples as a group has of a micro-batch that all of them share, at least one.  If a GPU has not the memory
    for all layers, they lie on several servers in turn, of which each more takes a micro-batch longer: that prices the
    bytes that GPUs hold.

    Parameters
    ----------
    graph : ModelGraph
        Of one micro-batch.
    table : CostTable
        Tells the GPU and its arithmetic.
    cluster : Cluster
    gpus : int
        GPUs of a group; must divide those of a server.
    optimizer : str
        A name in `flexnet.plan.optimizers.OPTIMIZERS`.
    micro_batches : int
    gpu_memory : float or None
        Bytes; None for no limit.
    degrees : sequence of tuple of int, optional
        Into what a part of each operator is to be cut; unless given, as is fastest.

    Raises
    ------
    FlexNetError
        If a server does not fall into such groups, ``degrees`` are more parts than GPUs, or the model is too entangled
        for exact search.
    """
    if gpus < 1 or cluster.gpus % gpus:
        raise FlexNetError(f"{cluster.gpus} GPUs of a server do not fall into groups of {gpus}")
    n_group = cluster.n_server * (cluster.gpus // gpus)
    pieces = max(graph.batch_size // max(graph.batch_size // n_group, 1), 1)
    operators = tuple(largest_piece(op, pieces) for op in graph.operators)
    group = ModelGraph(graph.name, -(-graph.batch_size // pieces), operators, graph.dtype)
    inside = Cluster(gpus, link_bandwidth=cluster.inter_gpu_bandwidth, degree=1)
    own = _table(group, gpus, table)
    problem = make_problem(group, own, inside, CORRECTED, optimizer=optimizer, micro_batches=micro_batches)
    if degrees is None:
        share = graph.batch_size / (group.batch_size * n_group)  # of the groups that work on a micro-batch at once
        degrees = _fastest(problem, gpu_memory, share)
    for op, cut, entries in zip(graph.operators, degrees, problem.candidates, strict=True):
        if cut not in (entry.degrees for entry in entries):
            raise FlexNetError(f"operator {op.name} cannot be cut {cut} among {gpus} GPUs")
    return TensorParallel(
        gpus, cluster.big_gpu // gpus, cluster.inter_gpu_bandwidth, tuple(degrees), _lacking(problem, degrees)
    )


def _fastest(problem: Problem, gpu_memory: float | None, share: float) -> tuple[tuple[int, ...], ...]:
    """The configs of least time, and of least memory at its price if that is more than there is."""
    terms = measured_terms(problem, strided=False)
    tables = terms.tables(1.0 / problem.cluster.link_bandwidth)
    choices = solve(tables, memory=MEMORY).choices
    if gpu_memory is not None and sum(held[i] for held, i in zip(terms.memory, choices, strict=True)) > gpu_memory:
        price = share * evaluate(tables, choices) / problem.micro_batches / gpu_memory
        vertices = tuple(costs + price * held for costs, held in zip(tables.vertices, terms.memory, strict=True))
        choices = solve(replace(tables, vertices=vertices), memory=MEMORY).choices
    return tuple(terms.degrees[op][choice] for op, choice in enumerate(choices))


def _table(graph: ModelGraph, gpus: int, table: CostTable) -> CostTable:
    """Every cut of every operator among the GPUs of a group."""
    on = Roofline.of_table(table, 0, held=False)
    precision = PRECISIONS["fp32" if table.dtype is None else table.dtype]
    shapes: dict[str, tuple[Entry, ...]] = {}
    for op, readers in zip(graph.operators, readers_of(graph), strict=True):
        if shape_name(op) not in shapes:
            shapes[shape_name(op)] = tuple(
                Entry(degrees, *on.of(op, degrees, readers)[:2], held_bytes(op, degrees, 0, precision, readers))
                for degrees in every_degrees(op, n_server=gpus, big_gpu=0)
            )
    provenance = MappingProxyType[str, object]({} if table.dtype is None else {"dtype": table.dtype})
    none = MappingProxyType[str, tuple[Entry, ...]]({})
    return CostTable(graph.batch_size, gpus, none, True, "a group of GPUs", provenance, MappingProxyType(shapes))


def _lacking(problem: Problem, degrees: Sequence[tuple[int, ...]]) -> tuple[tuple[float, ...], ...]:
    """Of each input of each operator what the busiest GPU gets, or sends, of what all read (`TensorParallel`)."""
    arrays, operators = problem.arrays, problem.graph.operators
    found = [[0.0] * len(op.inputs) for op in operators]
    configs = np.ones((len(operators), 1, MAX_RANK + 1), np.int64)  # the last one is that of what nothing cuts
    for config, of_op in zip(configs, degrees, strict=True):
        config[0, : len(of_op)] = of_op
    edges = [(op, i) for op in operators for i, source in enumerate(op.inputs) if source.op is not None]
    got = set[tuple[object, ...]]()
    for e, (op, i) in enumerate(edges):
        source, edge = op.inputs[i], edge_rows(arrays, e)
        assert source.op is not None
        pieces = source.op, source.output, *configs[op.index, 0, edge[:, 1]].tolist()
        if pieces not in got:
            got.add(pieces)
            ends = configs[source.op, :, :MAX_RANK], configs[op.index, :, :MAX_RANK]
            moved = pair_elements(edge, *ends, 0, 0, op.rank, problem.cluster.n_server, strided=False)
            found[op.index][i] = float(moved[0, 0]) / source.tensor.volume
    return tuple(map(tuple, found))
