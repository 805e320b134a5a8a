"""Cost tables of a model graph under PaSE's model.

Source: baidu-research/PaSE, nn_ops.py and graph.py; V. Elango, "PaSE: Parallelization Strategies for Efficient DNN
Training", IPDPS 2021.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.exact.configs import configurations
from flexnet.exact.domain import Cuts, Domain, domain_of
from flexnet.exact.operator_cost import operator_cost
from flexnet.exact.order import best_order
from flexnet.exact.solver import too_dense
from flexnet.exact.tables import CostTables
from flexnet.model.graph import ModelGraph, Operator, Tensor

__all__ = ["PaseProblem", "flop_per_word", "pase_problem"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

WORD_BYTES = 8
HOPELESS = 4  # times the memory; pruning dominated configurations saves 1.3 to 3.2 times on these graphs


def flop_per_word(flops: float, bandwidth: float) -> float:
    """FLOP a device computes while one 8-byte word is sent.

    Parameters
    ----------
    flops : float
        FLOP/s of a device.
    bandwidth : float
        Bytes/s of a link.

    Examples
    --------
    >>> flop_per_word(10e12, 16e9)
    5000.0
    """
    return flops / (bandwidth / WORD_BYTES)


@dataclass(frozen=True, slots=True, eq=False)
class PaseProblem:
    """A graph with its configurations and costs in FLOP.

    Parameters
    ----------
    graph : ModelGraph
    domains : tuple of Domain
    configs : tuple of int64 (n_config, n_dim)
    tables : CostTables
    """

    graph: ModelGraph
    domains: tuple[Domain, ...]
    configs: tuple[Ints, ...]
    tables: CostTables


def pase_problem(
    graph: ModelGraph, p: int, ratio: float, cutoff: int, *, overwrite: bool = False, memory: float = np.inf
) -> PaseProblem:
    """Lay out a graph's tables; operators and edges that are alike share theirs.

    Parameters
    ----------
    graph : ModelGraph
    p : int
        Devices; an operator is cut into at most as many parts.
    ratio : float
        FLOP per word, see `flop_per_word`.
    cutoff : int
        Least size of a part along a dimension that is cut.
    overwrite : bool
        Of several tensors between the same two operators only the last counts, as in PaSE, whose graph has no
        parallel edges; otherwise their costs are added.
    memory : float
        Bytes that tables may take.

    Raises
    ------
    FlexNetError
        If the model has no costs for some operator, or the tables do not fit.
    """
    domains: dict[Hashable, Domain] = {}
    configs: dict[Hashable, Ints] = {}
    costs: dict[Hashable, Floats] = {}
    keys = [_signature(op) for op in graph.operators]
    for op, key in zip(graph.operators, keys, strict=True):
        if key not in domains:
            domain = domains[key] = domain_of(op)
            configs[key] = configurations(domain, cutoff, p)
            costs[key] = operator_cost(op, domain, configs[key], ratio)
    terms: dict[tuple[int, int], list[_Move]] = {}
    for op, key in zip(graph.operators, keys, strict=True):
        for i, source in enumerate(op.inputs):
            if source.view is not None:
                raise FlexNetError(
                    f"operator {op.name} reads a view of what another puts out, of which PaSE's model has no costs"
                )
            if source.op is not None:
                ends = keys[source.op], key
                pair = domains[ends[0]].outputs[source.output], domains[key].inputs[i]
                terms.setdefault((source.op, op.index), []).append(_Move(*ends, *pair, source.tensor))
    counted = {ends: tuple(moves[-1:] if overwrite else moves) for ends, moves in terms.items()}
    _check_memory({moves[0]: None for moves in counted.values()}, configs, memory)
    if memory < np.inf:
        order = best_order([len(configs[key]) for key in keys], counted.keys(), memory / 8)
        if 8 * order.kept > HOPELESS * memory:  # before hours go into tables
            raise too_dense(order, 8 * order.kept, memory)
    cuts: dict[Hashable, Ints] = {}

    def cuts_of(key: Hashable, tensor: Cuts) -> Ints:
        if (key, tensor) not in cuts:
            cuts[key, tensor] = _cuts(configs[key], tensor)
        return cuts[key, tensor]

    sums: dict[tuple[_Move, ...], Floats] = {}
    for moves in counted.values():
        if moves not in sums:
            sums[moves] = _added(
                _edge_cost(m.tensor.shape, cuts_of(m.producer, m.written), cuts_of(m.consumer, m.read), ratio)
                for m in moves
            )
    edges = {ends: sums[moves] for ends, moves in counted.items()}
    tables = CostTables(tuple(costs[key] for key in keys), edges)
    return PaseProblem(graph, tuple(domains[k] for k in keys), tuple(configs[k] for k in keys), tables)


class _Move(NamedTuple):
    """A tensor that goes from an operator to another; both known by their signatures."""

    producer: Hashable
    consumer: Hashable
    written: Cuts
    read: Cuts
    tensor: Tensor


def _check_memory(moves: Iterable[_Move], configs: Mapping[Hashable, Ints], memory: float) -> None:
    pairs = [(len(configs[move.producer]), len(configs[move.consumer])) for move in moves]
    rows, columns = max(pairs, key=prod, default=(0, 0))
    needed = 8 * (sum(map(prod, pairs)) + 3 * rows * columns)  # and what making the largest takes
    if needed > memory:
        raise FlexNetError(
            f"the cost tables need {needed / 1e9:.4g} GB, the largest of {rows:,} x {columns:,} cells "
            f"({8 * rows * columns / 1e9:.4g} GB), and --memory allows {memory / 1e9:.4g} GB"
        )


def _added(tables: Iterable[Floats]) -> Floats:
    first, *rest = tables
    for table in rest:
        first += table
    return first


def _signature(op: Operator) -> Hashable:
    """Equal for operators with equal domains and costs."""
    shapes = tuple(source.tensor.dims for source in op.inputs)
    return op.kind, shapes, tuple(tensor.dims for tensor in op.outputs), op.equation, tuple(op.attrs.items())


def _cuts(configs: Ints, tensor: Cuts) -> Ints:
    """In how many parts every dimension of a tensor is cut, (n_config, n_dim of the tensor)."""
    return np.stack([np.prod(configs[:, dims], axis=1) for dims in tensor], axis=1)


def _edge_cost(shape: tuple[int, ...], written: Ints, read: Ints, ratio: float) -> Floats:
    """FLOP of bringing what the consumer's tile needs and the producer's lacks, forward and backward.

    A consumer that cuts the tensor into more parts than the producer finds nothing of it in place.
    """
    volume = float(np.prod(np.array(shape, np.float64)))
    joint = np.ones((len(written), len(read)), np.int64)
    for producer, consumer in zip(written.T, read.T, strict=True):
        if producer.max() > 1 or consumer.max() > 1:
            joint *= np.maximum(producer[:, None], consumer)
    parts_read = np.prod(read, axis=1)
    overlap = volume / joint  # the tile of the finer cut along every dimension
    overlap[np.prod(written, axis=1)[:, None] < parts_read] = 0.0
    return np.asarray(2 * ratio * (volume / parts_read - overlap))
