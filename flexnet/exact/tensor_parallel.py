"""A fast way for a group of GPUs to share an operator's part, of a whole model at once."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from flexnet.cost.configs import every_degrees
from flexnet.cost.estimate import Roofline
from flexnet.cost.gpus import Gpu
from flexnet.cost.memory import held_bytes, readers_of
from flexnet.cost.parts import largest_piece
from flexnet.cost.shape_names import shape_name
from flexnet.cost.table import CostTable, Entry
from flexnet.cost.tensor_parallel import TensorParallel, come_out_even
from flexnet.errors import FlexNetError
from flexnet.exact.solver import solve
from flexnet.exact.tables import CostTables
from flexnet.exact.terms import Terms, edge_rows, measured_terms, pair_elements
from flexnet.model.cutting import divisors
from flexnet.model.graph import ModelGraph
from flexnet.plan.arrays import MAX_RANK
from flexnet.plan.cluster import Cluster
from flexnet.plan.in_server import weight_pieces, weights_in_server
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.tied import first_user

__all__ = ["tensor_parallel"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Ways = Sequence[tuple[int, ...]]

MEMORY = 2e9  # bytes of tables
DEARER, TIMES = 4.0, 12  # as often the price of memory may rise so many times, until all of a model fits somewhere


def tensor_parallel(
    graph: ModelGraph,
    table: CostTable,
    cluster: Cluster,
    gpus: int,
    *,
    optimizer: str = "sgd",
    micro_batches: int = 1,
    gpu_memory: float | None = None,
    gpu: str | Gpu | None = None,
    degrees: Ways | None = None,
) -> TensorParallel:
    """A fast way for groups of ``gpus`` GPUs, and how much of what parts read they lack.

    Everything a group does is added up: compute, what its GPUs bring to each other, and the gradients they reduce; with
    as many samples as a group has of a micro-batch that all of them share, at least one.  If a GPU has not the memory
    for all layers, they lie on several servers in turn, of which each more takes a micro-batch longer: that prices the
    bytes that GPUs hold, and the price rises until all groups together could hold the model.  Exact but for tensors
    that several operators read, which are brought once to those that are cut alike: the faster is taken of what is best
    if all are, and if none is.

    Parameters
    ----------
    graph : ModelGraph
        Of one micro-batch.
    table : CostTable
        Tells the GPU, unless ``gpu`` does, and its arithmetic.
    cluster : Cluster
    gpus : int
        GPUs of a group; must divide those of a server.
    optimizer : str
        A name in `flexnet.plan.optimizers.OPTIMIZERS`.
    micro_batches : int
    gpu_memory : float or None
        Bytes; None for no limit.
    gpu : str or Gpu, optional
        Whose data sheet estimates.
    degrees : sequence of tuple of int, optional
        Into what a part of each operator is to be cut; unless given, as is found.

    Raises
    ------
    FlexNetError
        If a server does not fall into such groups, ``degrees`` are no config for as many GPUs, or the model is too
        entangled for exact search.
    """
    if gpus < 1 or cluster.gpus % gpus:
        raise FlexNetError(f"{cluster.gpus} GPUs of a server do not fall into groups of {gpus}")
    n_group = cluster.n_server * (cluster.gpus // gpus)
    samples = max(divisors(graph.batch_size, max(graph.batch_size // n_group, 1)))
    pieces = graph.batch_size // samples
    group = replace(graph, batch_size=samples, operators=tuple(largest_piece(op, pieces) for op in graph.operators))
    inside = Cluster(gpus, link_bandwidth=cluster.inter_gpu_bandwidth, degree=1)
    on = Roofline.of_table(table, 0, held=False, gpu=gpu)
    of_group = _table_of_group(graph, group, gpus, table, on)
    problem = make_problem(group, of_group, inside, CORRECTED, optimizer=optimizer, micro_batches=micro_batches)
    if degrees is None:
        share = graph.batch_size / (samples * n_group)  # of the groups that work on a micro-batch at once
        degrees = _fast(problem, gpu_memory, share, n_group)
    for op, cut, entries in zip(graph.operators, degrees, problem.candidates, strict=True):
        if cut not in (entry.degrees for entry in entries):
            raise FlexNetError(f"operator {op.name} cannot be cut {cut} among {gpus} GPUs")
    bandwidth, lacking = cluster.inter_gpu_bandwidth, _lacking(problem, degrees)
    return TensorParallel(gpus, cluster.big_gpu // gpus, bandwidth, tuple(degrees), lacking, on.gpu)


def _fast(problem: Problem, gpu_memory: float | None, share: float, n_group: int) -> Ways:
    """The configs of least time, and of least memory at its price if that is more than there is."""
    # of tensors that are brought to all readers at once, and to each by itself
    both = [measured_terms(problem, strided=False, at_once=at_once) for at_once in (True, False)]
    found, seconds = min((_optimum(problem, terms) for terms in both), key=lambda one: one[1])
    if gpu_memory is None or _memory(problem, found) <= gpu_memory:
        return found
    price = share * seconds / problem.micro_batches / gpu_memory
    for _ in range(TIMES):
        priced = [_optimum(problem, terms, price) for terms in both]
        found, _seconds = min(priced, key=lambda one: one[1] + price * _memory(problem, one[0]))
        if _memory(problem, found) <= n_group * gpu_memory:
            break
        price *= DEARER
    return found


def _optimum(problem: Problem, terms: Terms, price: float = 0.0) -> tuple[Ways, float]:
    """The configs that are best by additive terms and a price of memory, and what they take."""
    tables = terms.tables(1.0 / problem.cluster.link_bandwidth)
    vertices = tuple(costs + price * held for costs, held in zip(tables.vertices, terms.memory, strict=True))
    edges = dict(tables.edges)
    for (first, user), seconds in _retied(problem, terms).items():
        edges[first, user] = edges[first, user] + seconds if (first, user) in edges else seconds
    choices = solve(CostTables(vertices if price else tables.vertices, edges), memory=MEMORY).choices
    found = tuple(terms.degrees[op][choice] for op, choice in enumerate(choices))
    return found, _seconds(problem, found)


def _seconds(problem: Problem, degrees: Ways) -> float:
    """What all micro-batches of a group take, and its gradients."""
    graph, bandwidth = problem.graph, problem.cluster.link_bandwidth
    parallel = TensorParallel(problem.cluster.n_server, 1, bandwidth, tuple(degrees), _lacking(problem, degrees))
    found = 0.0
    for op in graph.operators:
        entry = problem.candidates[op.index][problem.choice_of(op.index, degrees[op.index])]
        brought = parallel.brought_seconds(op, (1,) * op.rank, problem.table.precision)
        found += problem.micro_batches * (entry.forward + entry.backward + 2 * brought)
    pieces, gpus = weights_in_server(graph.operators, parallel)
    reduced = _ring_share(gpus) * problem.arrays.weight_bytes / pieces / bandwidth
    return found + float(reduced[(gpus > 0) & ~problem.arrays.weight_is_tied].sum())


def _memory(problem: Problem, degrees: Ways) -> float:
    """Bytes that a GPU holds of all operators."""
    at = [problem.choice_of(op, cut) for op, cut in enumerate(degrees)]
    return float(problem.arrays.memory[problem.arrays.candidate_ptr[:-1] + at].sum())


def _table_of_group(graph: ModelGraph, group: ModelGraph, gpus: int, table: CostTable, on: Roofline) -> CostTable:
    """Every cut of every operator of a group, that comes out even of the whole operator too, among its GPUs."""
    shapes: dict[str, list[Entry]] = {}
    for whole, op, readers in zip(graph.operators, group.operators, readers_of(group), strict=True):
        name = shape_name(op)
        if name not in shapes:
            shapes[name] = [
                Entry(degrees, *on.of(op, degrees, readers)[:2], held_bytes(op, degrees, 0, table.precision, readers))
                for degrees in every_degrees(op, n_server=gpus, big_gpu=0)
            ]
        shapes[name] = [entry for entry in shapes[name] if come_out_even(whole, entry.degrees)]
    provenance = MappingProxyType[str, object]({} if table.dtype is None else {"dtype": table.dtype})
    none = MappingProxyType[str, tuple[Entry, ...]]({})
    of_shapes = MappingProxyType({name: tuple(entries) for name, entries in shapes.items()})
    return CostTable(group.batch_size, gpus, none, True, "a group of GPUs", provenance, of_shapes)


def _retied(problem: Problem, terms: Terms) -> dict[tuple[int, int], Floats]:
    """Seconds more in which GPUs reduce a weight because a second operator has it, by the configs of both."""
    operators, gpus, found = problem.graph.operators, problem.cluster.n_server, dict[tuple[int, int], Floats]()
    for op in operators:
        for i in op.tied:
            first, j = first_user(operators, op.index, i)
            if first == op.index:
                continue
            cuts, copies = [], []
            for user, at in ((first, j), (op.index, i)):
                rows = [weight_pieces(operators[user], at, cut) for cut in terms.degrees[user]]
                cuts.append(np.array(rows))
                copies.append(
                    np.array([prod(cut) // prod(row) for cut, row in zip(terms.degrees[user], rows, strict=True)])
                )
            alike = (cuts[0][:, None] == cuts[1][None, :]).all(axis=2)
            pieces = np.where(alike, cuts[0].prod(axis=1)[:, None], 1)
            most = np.where(alike, np.maximum(copies[0][:, None], copies[1]), gpus)
            own = _ring_share(copies[0]) / cuts[0].prod(axis=1)  # which terms have
            size = problem.table.precision.gradient_bytes * op.weights[i].volume
            seconds = (_ring_share(most) / pieces - own[:, None]) * size / problem.cluster.link_bandwidth
            found[first, op.index] = found[first, op.index] + seconds if (first, op.index) in found else seconds
    return found


def _ring_share(gpus: Ints) -> Floats:
    """How often each of so many GPUs sends what they reduce."""
    return 2.0 * (gpus - 1) / np.maximum(gpus, 1)


def _lacking(problem: Problem, degrees: Ways) -> tuple[tuple[float, ...], ...]:
    """Of each input of each operator what the busiest GPU gets, or sends, of what all read (`TensorParallel`)."""
    arrays, operators = problem.arrays, problem.graph.operators
    found = [[0.0] * len(op.inputs) for op in operators]
    configs = np.ones((len(operators), 1, MAX_RANK), np.int64)
    for config, of_op in zip(configs, degrees, strict=True):
        config[0, : len(of_op)] = of_op
    edges = [(op, i) for op in operators for i, source in enumerate(op.inputs) if source.op is not None]
    got = set[tuple[object, ...]]()
    known: dict[tuple[object, ...], float] = {}
    for e, (op, i) in enumerate(edges):
        source, edge = op.inputs[i], edge_rows(arrays, e)
        assert source.op is not None
        way = edge.tobytes(), degrees[op.index]
        if (source.op, source.output, *way) in got:
            continue
        got.add((source.op, source.output, *way))
        key = degrees[source.op], op.rank, *way
        if key not in known:
            ends = configs[source.op], configs[op.index]
            known[key] = float(pair_elements(edge, *ends, 0, 0, op.rank, problem.cluster.n_server, strided=False)[0, 0])
        found[op.index][i] = known[key] / source.tensor.volume
    return tuple(map(tuple, found))
