"""The search problem as arrays: what kernels need to know of a model, its costs and the cluster."""

from dataclasses import dataclass, replace
from math import prod

import numpy as np
import numpy.typing as npt

from flexnet.cost.memory import as_held, kept_bytes
from flexnet.cost.shape_names import shape_name
from flexnet.cost.table import CostTable, Entry
from flexnet.cost.tensor_parallel import TensorParallel, come_out_even, in_groups
from flexnet.errors import FlexNetError, one_of
from flexnet.model.cutting import aligned_split
from flexnet.model.graph import ELEMENT_BYTES, ModelGraph, Operator, Tensor
from flexnet.model.operators import kind_of
from flexnet.model.operators.kind import Window
from flexnet.model.precision import Precision
from flexnet.plan.arrays import MAX_RANK, ProblemArrays
from flexnet.plan.cluster import Cluster
from flexnet.plan.in_server import weights_in_server
from flexnet.plan.optimizers import OPTIMIZERS, state_of_part
from flexnet.plan.semantics import Semantics
from flexnet.plan.tied import users_of
from flexnet.plan.turns import MOST_SERVERS, least_bytes, needs

__all__ = ["Problem", "make_problem"]


Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MOST_RELAYING = 1024
"""Of more servers none hands on: trees, and who has what, are tables of all pairs."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A model with its costs on a cluster, under given semantics.

    ``candidates[op]`` are the configs the search may give operator ``op``, in the order of the measurement file; what
    nobody reads is not cut along what it sums over, for nobody would add up the partial sums.  ``parallel`` tells into
    what the GPUs of a server cut what lies on it.
    """

    graph: ModelGraph
    table: CostTable
    cluster: Cluster
    semantics: Semantics
    candidates: tuple[tuple[Entry, ...], ...]
    arrays: ProblemArrays
    parallel: TensorParallel

    @property
    def micro_batches(self) -> int:
        """Parts of the batch, after all of which gradients are reduced; the graph is of one."""
        return self.arrays.micro_batches

    @property
    def gpus_of_part(self) -> Ints:
        """GPUs of a server that share a part of an operator, int64 (n_op,): all of them, of an embedding one."""
        return np.where(self.arrays.is_whole, 1, self.cluster.gpus)

    def with_transfers_at_once(self) -> "Problem":
        """The same problem, but that no transfer takes turns."""
        semantics = replace(self.semantics, transfers_in_turn=False)
        return replace(self, semantics=semantics, arrays=self.arrays._replace(in_turn=False))

    def of_one_micro_batch(self) -> "Problem":
        """The same problem, but that an iteration is one micro-batch of it."""
        return replace(self, arrays=self.arrays._replace(micro_batches=1))

    @property
    def may_relay(self) -> bool:
        """Whether servers may hand on what several of them get; not of more than ``MOST_RELAYING``."""
        return self.semantics.relay_transfers and self.cluster.n_server <= MOST_RELAYING

    @property
    def bucket_bytes(self) -> int:
        """Bytes up to which an all-reduce carries the gradients of several weights; 0: each has one of its own."""
        return self.arrays.bucket_bytes

    def with_buckets(self, bucket_bytes: float) -> "Problem":
        """The same problem, but gradients that the same servers reduce are put together in buckets.

        All-reduces of later operators come first, as gradients do, and a bucket takes the next one as long as it has
        room: as PyTorch's DistributedDataParallel does with 25 MiB (S. Li et al., VLDB 2020, section 3.2.3).

        Parameters
        ----------
        bucket_bytes : float
            Bytes of a bucket; a weight that has more has one of its own.  0: every weight has.

        Raises
        ------
        FlexNetError
            If that is negative or no number.
        """
        if not 0 <= bucket_bytes < float("inf"):
            raise FlexNetError(f"a bucket has {bucket_bytes} bytes; it must be a finite number, 0 or more")
        return replace(self, arrays=self.arrays._replace(bucket_bytes=int(bucket_bytes)))

    def classes(self) -> tuple[tuple[object, ...], ...]:
        """Of every operator what is the same for all that have its shape and its candidates."""
        read = self.graph.read_operators()
        alike = self.parallel.degrees, self.parallel.lacking
        return tuple((shape_name(op), op.index in read, *(of[op.index] for of in alike)) for op in self.graph.operators)

    def choice_of(self, op: int, degrees: tuple[int, ...]) -> int:
        """Index of the candidate of operator ``op`` with these degrees.

        Raises
        ------
        FlexNetError
            If the operator was not measured with these degrees, or may not be cut so on this cluster.
        """
        for i, entry in enumerate(self.candidates[op]):
            if entry.degrees == degrees:
                return i
        operator = self.graph.operators[op]
        measured = self.table.candidates(operator, by_shape=self.semantics.shape_costs)
        if degrees not in [entry.degrees for entry in measured]:
            self.table.lookup(operator.key, degrees)
        if not come_out_even(operator, self.parallel.of_gpus(operator, degrees)):
            raise FlexNetError(
                f"operator {operator.name} ({operator.key}) cannot be cut {degrees}: {self.parallel.gpus} GPUs cut "
                f"its parts {self.parallel.degrees[op]} further, which does not come out even"
            )
        if prod(degrees) <= self.cluster.n_server:
            raise FlexNetError(
                f"operator {operator.name} ({operator.key}) cannot be cut {degrees}: along what it sums over only what "
                "another operator reads may be cut, which adds up the partial sums"
            )
        raise FlexNetError(
            f"operator {operator.name} ({operator.key}) cannot be cut {degrees}: it needs {prod(degrees)} devices "
            f"and the cluster has {self.cluster.n_server}"
        )


def make_problem(
    graph: ModelGraph,
    table: CostTable,
    cluster: Cluster,
    semantics: Semantics,
    *,
    optimizer: str = "sgd",
    micro_batches: int = 1,
    parallel: TensorParallel | None = None,
) -> Problem:
    """Lay out ``graph`` and ``table`` for the kernels.

    Parameters
    ----------
    graph : ModelGraph
    table : CostTable
        Its configs are those that can be searched; `flexnet.cost.estimate.complete_table` adds what was not measured.
    cluster : Cluster
    semantics : Semantics
    optimizer : str
        A name in `flexnet.plan.optimizers.OPTIMIZERS`: what it keeps of each weight that a part holds is added to the
        memory of the part. Of times measured in an arithmetic that the table names, memory is that of
        `flexnet.cost.memory.as_held`, if it is a limit.
    micro_batches : int
        An iteration runs ``graph`` so many times, once for each part of its batch, and reduces gradients then
        (`flexnet.plan.kernels.micro_batches`); graph and table are those of one micro-batch.
    parallel : TensorParallel, optional
        How groups of GPUs share parts, whatever the table says of them (`flexnet.cost.tensor_parallel.in_groups`).
        None: each GPU of a server computes some of its samples.

    Raises
    ------
    FlexNetError
        If an operator is missing from the table or has no config that fits the cluster, the optimizer is unknown, or
        there is no micro-batch.
    """
    if micro_batches < 1:
        raise FlexNetError(f"micro_batches is {micro_batches}; there must be one at least")
    if optimizer not in OPTIMIZERS:
        raise FlexNetError(f"optimizer is {optimizer!r}; it must be {one_of(sorted(OPTIMIZERS))}")
    if table.n_server != cluster.n_server:
        raise FlexNetError(
            f"{table.source} was measured for {table.n_server} servers; the cluster has {cluster.n_server}"
        )
    precision = table.precision
    if parallel is None:
        parallel = TensorParallel.by_samples(graph, cluster.big_gpu, cluster.inter_gpu_bandwidth)
    read = graph.read_operators()
    candidates = tuple(_candidates(op, op.index in read, table, cluster, semantics) for op in graph.operators)
    if semantics.limit_memory and table.dtype is not None and not table.estimated:
        candidates = as_held(graph, candidates, cluster.big_gpu, precision)
    if parallel.gpus > 1:
        held = table.dtype is not None and (table.estimated or semantics.limit_memory)
        candidates = in_groups(graph, candidates, parallel, table, _gpus_by_samples(table, cluster), held=held)
    flat = [entry for entries in candidates for entry in entries]
    of_gpus = [
        (op, entry.memory, parallel.of_gpus(op, entry.degrees))
        for op, entries in zip(graph.operators, candidates, strict=True)
        for entry in entries
    ]
    weights = [(op, w) for op in graph.operators for w in range(len(op.weights))]
    edges = [(op, i) for op in graph.operators for i, source in enumerate(op.inputs) if source.op is not None]
    inherited = _inherited_bytes(graph)
    tensors = [graph.operators[_producer(op, i)].outputs[op.inputs[i].output] for op, i in edges]
    seen = [_seen(op, i, tensor, semantics) for (op, i), tensor in zip(edges, tensors, strict=True)]
    splits, reaches = [split for split, _ in seen], [reach for _, reach in seen]
    arrays = ProblemArrays(
        n_server=cluster.n_server,
        interfaces=cluster.degree,
        inter_gpu_bandwidth=float(cluster.inter_gpu_bandwidth),
        exact_intra_server=semantics.intra_server_factor_exact,
        micro_batches=micro_batches,
        rank=_ints([op.rank for op in graph.operators]),
        is_whole=np.array([kind_of(op).whole for op in graph.operators]),
        candidate_ptr=_pointers([len(entries) for entries in candidates]),
        degrees=_padded([entry.degrees for entry in flat], 1),
        parts=_ints([prod(entry.degrees) for entry in flat]),
        batch_only=np.array(
            [
                prod(entry.degrees) == entry.degrees[op.rank - 1]
                for op, entries in zip(graph.operators, candidates, strict=True)
                for entry in entries
            ],
            np.bool_,
        ),
        forward=np.array([entry.forward for entry in flat]),
        backward=np.array([entry.backward for entry in flat]),
        memory=_ints(
            [
                memory + state_of_part(op, degrees, optimizer, precision, max(parallel.groups, 1), semantics)
                for op, memory, degrees in of_gpus
            ]
        ),
        kept=_ints(
            [
                0 if micro_batches == 1 else kept_bytes(op, degrees, memory, parallel.groups, precision)
                for op, memory, degrees in of_gpus
            ]
        ),
        weight_ptr=_pointers([len(op.weights) for op in graph.operators]),
        weight_bytes=_ints([precision.gradient_bytes * op.weights[w].volume for op, w in weights]),
        weight_cut=_weight_cuts(weights, semantics),
        **users_of(graph.operators, shared=semantics.shard_parameters)._asdict(),
        **weights_in_server(graph.operators, parallel)._asdict(),
        edge_src=_ints([_producer(op, i) for op, i in edges]),
        edge_dst=_ints([op.index for op, _ in edges]),
        edge_rank=_ints([len(tensor.dims) for tensor in tensors]),
        edge_dims=_padded([tensor.dims for tensor in tensors], 1),
        edge_element_bytes=_ints(
            [
                inherited[_producer(op, i)] if semantics.inherit_element_size else _element_bytes(tensor, precision)
                for (op, i), tensor in zip(edges, tensors, strict=True)
            ]
        ),
        edge_split=_padded(splits, -1),
        edge_extent=_padded(
            [
                _extents(op, split, reach, tensor)
                for (op, _), split, reach, tensor in zip(edges, splits, reaches, tensors, strict=True)
            ],
            1,
        ),
        edge_stride=_padded([tuple(window.stride for window in reach) for reach in reaches], 1),
        edge_window=_padded([tuple(window.size for window in reach) for reach in reaches], 1),
        edge_padding=_padded([tuple(window.padding for window in reach) for reach in reaches], 0),
        edge_by_batch=np.array(
            [split[-1] == op.rank - 1 for split, (op, _) in zip(splits, edges, strict=True)], np.bool_
        ),
        edge_before=_edges_before(edges, semantics.share_transfers),
        in_turn=semantics.transfers_in_turn and cluster.n_server <= MOST_SERVERS,
        turn_bytes=least_bytes(cluster),
        needed=needs(len(graph.operators), [(_producer(op, i), op.index) for op, i in edges]),
        bucket_bytes=0,
    )
    return Problem(graph, table, cluster, semantics, candidates, arrays, parallel)


def _gpus_by_samples(table: CostTable, cluster: Cluster) -> int:
    """GPUs of a server of which a table has the times; the original's files do not tell."""
    said = table.provenance.get("big_gpu")
    return said if isinstance(said, int) else cluster.big_gpu


def _candidates(
    op: Operator, read: bool, table: CostTable, cluster: Cluster, semantics: Semantics
) -> tuple[Entry, ...]:
    fitting = []
    may_reduce = semantics.shard_parameters and op.rank in kind_of(op).axes(op)
    for entry in table.candidates(op, by_shape=semantics.shape_costs):
        reduced = may_reduce and len(entry.degrees) == op.rank + 1 and entry.degrees[-1] > 1
        if len(entry.degrees) != op.rank and not reduced:
            raise FlexNetError(
                f"{table.source}: {op.key} is cut in {len(entry.degrees)} dimensions {entry.degrees}; "
                f"operator {op.name} has {op.rank}"
            )
        if prod(entry.degrees) <= cluster.n_server and (read or not reduced):
            fitting.append(entry)
    if not fitting:
        raise FlexNetError(f"{table.source}: no measured config of {op.key} fits on {cluster.n_server} servers")
    return tuple(fitting)


def _inherited_bytes(graph: ModelGraph) -> list[int]:
    """Bytes per element of every operator's outputs as the original counts them.

    There, outputs inherit the data type of input 0, so what an embedding puts out counts as int64 (section 4.1).
    """
    sizes: list[int] = []
    for op in graph.operators:
        source = op.inputs[0]
        sizes.append(ELEMENT_BYTES[source.tensor.dtype] if source.op is None else sizes[source.op])
    return sizes


def _input_split(op: Operator, i: int, semantics: Semantics) -> tuple[int, ...]:
    if semantics.shard_parameters:
        return kind_of(op).input_split(op, i)
    return aligned_split(op, op.inputs[i].tensor)  # model.cc:798 cuts what a channel part of Linear needs whole


def _seen(op: Operator, i: int, tensor: Tensor, semantics: Semantics) -> tuple[tuple[int, ...], tuple[Window, ...]]:
    """What cuts the dimensions of an input, and what it reaches, of ``tensor`` that it may be a view of."""
    split, reach = _input_split(op, i, semantics), _reach(op, i, semantics)
    source = op.inputs[i]
    if source.view is None:
        return split, reach
    splits, reaches = [], []
    for size, (k, _) in zip(tensor.dims, source.view, strict=True):
        axis, window = (split[k], reach[k]) if k >= 0 else (-1, Window())
        if window != Window():
            wide, rest = divmod(size, source.tensor.dims[k])  # elements that the input sees as one, as rows of images
            axis = axis if rest == 0 else -1
            stride, reached, padding = (wide * n for n in window[:3])
            window = Window(stride, reached, padding, window.joined) if rest == 0 else Window()
        splits.append(axis)
        reaches.append(window)
    return tuple(splits), tuple(reaches)


def _element_bytes(tensor: Tensor, precision: Precision) -> int:
    return precision.activation_bytes if tensor.dtype == "float" else ELEMENT_BYTES[tensor.dtype]


def _reach(op: Operator, i: int, semantics: Semantics) -> tuple[Window, ...]:
    if semantics.shard_parameters:
        return kind_of(op).reach(op, i)
    return (Window(),) * len(op.inputs[i].tensor.dims)  # model.cc:798 knows of no borders


def _extents(op: Operator, split: tuple[int, ...], reach: tuple[Window, ...], tensor: Tensor) -> tuple[int, ...]:
    """For each dimension of an input the size that a degree divides."""
    return tuple(
        size if window == Window() or k < 0 else op.outputs[0].dims[k]
        for size, k, window in zip(tensor.dims, split, reach, strict=True)
    )


def _weight_cuts(weights: list[tuple[Operator, int]], semantics: Semantics) -> npt.NDArray[np.bool_]:
    cuts = np.zeros((len(weights), MAX_RANK), np.bool_)
    if semantics.shard_parameters:
        for row, (op, i) in zip(cuts, weights, strict=True):
            row[[k for k in kind_of(op).weight_split(op, i) if k >= 0]] = True
    return cuts


def _producer(op: Operator, i: int) -> int:
    source = op.inputs[i].op
    assert source is not None
    return source


def _edges_before(edges: list[tuple[Operator, int]], shared: bool) -> Ints:
    """Of every edge the last one before it that carries the same tensor; -1 where there is none, or none is shared."""
    before, latest = [], dict[tuple[int, int], int]()
    for number, (op, i) in enumerate(edges):
        tensor = _producer(op, i), op.inputs[i].output
        before.append(latest.get(tensor, -1) if shared else -1)
        latest[tensor] = number
    return _ints(before)


def _ints(values: list[int]) -> Ints:
    return np.array(values, np.int64)


def _pointers(counts: list[int]) -> Ints:
    return np.concatenate([[0], np.cumsum(_ints(counts))]).astype(np.int64)


def _padded(rows: list[tuple[int, ...]], fill: int) -> Ints:
    out = np.full((len(rows), MAX_RANK), fill, np.int64)
    for row, values in zip(out, rows, strict=True):
        row[: len(values)] = values
    return out
