"""The structs of arrays that kernels read and write; when this page changes, they are compiled anew."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.structs import struct

__all__ = ["MAX_RANK", "Box", "Passes", "ProblemArrays", "Strategy", "TaskArrays", "Workspace"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MAX_RANK = 6
"""Most dimensions of a config: those of a tensor, 5, and a reduction."""


@struct
class ProblemArrays(NamedTuple):
    """Struct of arrays; shapes in brackets.

    Scalars: ``n_server``, ``interfaces`` (of a server), ``inter_gpu_bandwidth`` (bytes/s),
    ``exact_intra_server``, ``micro_batches`` (after which gradients are reduced).
    Operators: ``rank`` (n_op,), ``is_whole`` (n_op,; never cut, on one GPU), ``candidate_ptr`` (n_op+1,).
    Candidates: ``degrees`` (n_candidate, MAX_RANK; behind those of output 0 that of a reduction, or 1), ``parts``,
    ``batch_only`` (cut along the batch alone),
    ``forward``, ``backward`` (seconds), ``memory`` (bytes, with one micro-batch under way), ``kept`` (bytes, of every
    other one).
    Weights: ``weight_ptr`` (n_op+1,), ``weight_bytes`` (n_weight,), ``weight_cut`` (n_weight, MAX_RANK): whether a
    config dimension shards it; where none does, every part holds all of it; ``weight_is_tied``: it is that of an
    operator before, which counts it; ``weight_pieces``, ``weight_gpus``: into how many pieces the GPUs of a server cut
    what a part has of it, and how many of them have each, 0 where they reduce nothing.  Users of a weight that
    operators share, its own first, none of any other:
    ``user_ptr`` (n_weight+1,), ``user_op`` (n_user,), ``user_cut`` (n_user, MAX_RANK): the operator's config dimension
    that cuts each dimension of the weight, -1 where none does.
    Edges, by consumer then input: ``edge_src``, ``edge_dst``, ``edge_rank``, ``edge_dims`` (n_edge, MAX_RANK),
    ``edge_element_bytes``, ``edge_split`` (n_edge, MAX_RANK): the consumer's config dimension that cuts each
    dimension of its input, -1 where the part reads all of it; ``edge_extent``: the size these pieces add up to, of the
    input or, where windows slide over it, of the output; ``edge_stride``, ``edge_window``, ``edge_padding``: element e
    reads ``window`` elements from e stride - padding on; ``edge_by_batch``: batch is cut by batch;
    ``edge_before``: the last edge before that carries the same tensor, -1 if none does or transfers are not shared.
    Turns (`flexnet.plan.turns`): ``in_turn``, whether transfers of ``turn_bytes`` or more take any; ``needed``
    (n_op, n_op): whether the operator of a row needs that of a column.
    Buckets: ``bucket_bytes``, up to which an all-reduce carries the gradients of several weights; 0 for one of each.
    """

    n_server: int
    interfaces: int
    inter_gpu_bandwidth: float
    exact_intra_server: bool
    micro_batches: int
    rank: Ints
    is_whole: npt.NDArray[np.bool_]
    candidate_ptr: Ints
    degrees: Ints
    parts: Ints
    batch_only: npt.NDArray[np.bool_]
    forward: Floats
    backward: Floats
    memory: Ints
    kept: Ints
    weight_ptr: Ints
    weight_bytes: Ints
    weight_cut: npt.NDArray[np.bool_]
    weight_is_tied: npt.NDArray[np.bool_]
    weight_pieces: Ints
    weight_gpus: Ints
    user_ptr: Ints
    user_op: Ints
    user_cut: Ints
    edge_src: Ints
    edge_dst: Ints
    edge_rank: Ints
    edge_dims: Ints
    edge_element_bytes: Ints
    edge_split: Ints
    edge_extent: Ints
    edge_stride: Ints
    edge_window: Ints
    edge_padding: Ints
    edge_by_batch: npt.NDArray[np.bool_]
    edge_before: Ints
    in_turn: bool
    turn_bytes: float
    needed: npt.NDArray[np.bool_]
    bucket_bytes: int


@struct
class Strategy(NamedTuple):
    """Arrays of a strategy: ``choice`` (n_op,) candidate per operator, ``devices`` (n_op, n_server) padded with -1.

    ``after`` (n_op,): the operator whose backward pass must end before the gradients of an operator are reduced; -1:
    they are reduced as soon as they are there.
    """

    choice: npt.NDArray[np.int64]
    devices: npt.NDArray[np.int64]
    after: npt.NDArray[np.int64]


@struct
class TaskArrays(NamedTuple):
    """What simulation kernels read; the shapes are those of `TaskGraph`, with predecessor counts and ranks."""

    kind: npt.NDArray[np.int8]
    place: npt.NDArray[np.int32]
    seconds: npt.NDArray[np.float64]
    bytes: npt.NDArray[np.int64]
    rank: npt.NDArray[np.int32]
    succ_ptr: npt.NDArray[np.int32]
    succ: npt.NDArray[np.int32]
    n_pred: npt.NDArray[np.int32]
    group_ptr: npt.NDArray[np.int32]
    group: npt.NDArray[np.int32]


@struct
class Box(NamedTuple):
    """Which parts of a producer a consumer's part reads: int64 (MAX_RANK,) each.

    Parameters
    ----------
    coordinate : of the consumer's part, among its parts
    low, high : elements it reads
    step : elements of the producer's parts
    begin, last, at : first, last and present coordinate of the producer's part
    """

    coordinate: npt.NDArray[np.int64]
    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]
    step: npt.NDArray[np.int64]
    begin: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]
    at: npt.NDArray[np.int64]


@struct
class Passes(NamedTuple):
    """Scratch of `flexnet.plan.kernels.passes`, by stage, of which there are as many as operators at most.

    Forward and backward passes: ``seconds`` (2, n_op, n_server) on every server, ``longest`` (2, n_op), where that is
    most; ``end`` (2, n_op, micro_batches) of those laid out, and the ``next`` (2, n_op) micro-batch.  If what it needs
    is laid out, a pass ``is_open`` (2, n_op), from when it is ``ready`` (2, n_op), and stands in ``open`` (2 * n_op,)
    as 2 * stage + way.
    Servers: from when on each is ``free`` (n_server,), and whether a pass that is looked through ``is_there``
    (n_server,).
    Stages whose passes come before: ``neighbour`` (2, n_edge) as ``ptr`` (2, n_op+1) tells; ``reads`` (n_op, n_op):
    whether the stage of a row reads that of a column.
    Operators: ``op`` (n_op,) by stage, as ``op_ptr`` (n_op+1,) tells; which ``begins`` or ``ends`` (n_op,) its stage,
    and which ``enters`` (n_op,) it from another.
    """

    seconds: Floats
    end: Floats
    next: Ints
    open: Ints
    is_open: npt.NDArray[np.bool_]
    ready: Floats
    longest: Ints
    free: Floats
    is_there: npt.NDArray[np.bool_]
    neighbour: Ints
    ptr: Ints
    reads: npt.NDArray[np.bool_]
    op: Ints
    op_ptr: Ints
    begins: npt.NDArray[np.bool_]
    ends: npt.NDArray[np.bool_]
    enters: npt.NDArray[np.bool_]


@struct
class Workspace(NamedTuple):
    """Room for the largest task graph so far; `Builder` grows it.

    Names as in `TaskArrays`; ``record_from`` and ``record_to`` are edges as they are found, ``first`` (n_op,) the
    first task of every operator, in a micro-batch, ``first_transfer`` (n_edge,) the first of those that bring what goes
    along an edge, ``fill`` and ``box`` scratch, ``latest`` (n_server * n_server,) and ``earlier`` (n_task,) lists of
    the transfers of every pair of servers, and the numbers (1,) say how much is used.
    ``copies`` (n_task,): as how many others at once a transfer brings the same from one server, or, below 0, what is
    added up for one; 1 for others.  Scratch of trees: ``between`` (n_server * n_server,) records by parts, ``gets``
    (n_server,) by servers, -1 in between; ``region``, ``member``, ``record``, ``server``, ``above``, ``below``
    (n_server,).  ``pieces`` (MAX_RANK,): of a shared weight, by dimension.
    Scratch of micro-batches: ``stage`` (n_op,), ``last`` (n_server,), ``passes``; ``n_part`` (1,): compute tasks of
    one.
    """

    kind: npt.NDArray[np.int8]
    place: npt.NDArray[np.int32]
    seconds: npt.NDArray[np.float64]
    bytes: npt.NDArray[np.int64]
    rank: npt.NDArray[np.int32]
    succ_ptr: npt.NDArray[np.int32]
    succ: npt.NDArray[np.int32]
    n_pred: npt.NDArray[np.int32]
    group_ptr: npt.NDArray[np.int32]
    group: npt.NDArray[np.int32]
    record_from: npt.NDArray[np.int32]
    record_to: npt.NDArray[np.int32]
    first: npt.NDArray[np.int64]
    first_transfer: npt.NDArray[np.int64]
    fill: npt.NDArray[np.int32]
    latest: npt.NDArray[np.int32]
    earlier: npt.NDArray[np.int32]
    box: Box
    copies: npt.NDArray[np.int32]
    between: npt.NDArray[np.int32]
    gets: npt.NDArray[np.int32]
    region: npt.NDArray[np.int32]
    member: npt.NDArray[np.int32]
    record: npt.NDArray[np.int32]
    server: npt.NDArray[np.int32]
    above: npt.NDArray[np.int32]
    below: npt.NDArray[np.int32]
    pieces: npt.NDArray[np.int64]
    stage: npt.NDArray[np.int64]
    passes: Passes
    last: npt.NDArray[np.int64]
    n_part: npt.NDArray[np.int64]
    n_tree: npt.NDArray[np.int64]
    n_task: npt.NDArray[np.int64]
    n_record: npt.NDArray[np.int64]
    n_group: npt.NDArray[np.int64]
    n_member: npt.NDArray[np.int64]
