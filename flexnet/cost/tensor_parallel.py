"""Tensor parallelism: groups of GPUs of a server that share one part of an operator, and what that takes.

Without it every GPU of a server computes some of the part's samples, and holds all its weights.  A group cuts the part
along other dimensions too, most of all its weights, and its GPUs send each other what they lack over the links inside
of the server, which nothing hides: M. Shoeybi et al. (arXiv:1909.08053, section 3), with sequences cut between the
products (V. Korthikanti et al., arXiv:2205.05198, section 4.2) where that is the fastest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from flexnet.cost.estimate import Roofline, by_ratio
from flexnet.cost.memory import held_bytes, readers_of
from flexnet.cost.parts import part_of
from flexnet.cost.shape_names import shape_name
from flexnet.cost.table import Entry
from flexnet.model.graph import ELEMENT_BYTES, ModelGraph, Operator
from flexnet.model.operators import kind_of
from flexnet.model.precision import Precision

__all__ = ["TensorParallel", "in_groups"]

Entries = tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class TensorParallel:
    """How a group of GPUs shares a part of every operator; `flexnet.exact.tensor_parallel` finds the fastest way.

    Parameters
    ----------
    gpus : int
        GPUs of a group.
    groups : int
        Groups of a server, which share its samples; 0 where a server is one GPU.
    bandwidth : float
        Bytes/s of a GPU to the others of its server.
    degrees : tuple of tuple of int
        Into what a part of each operator is cut among the GPUs of a group: a config with at most ``gpus`` parts.
    lacking : tuple of tuple of float
        Of each input of each operator, how much of what the group reads its busiest GPU gets from, or sends to, the
        others: forward, and the gradient as much back.  0 for data, and where an operator before got the same.
    """

    gpus: int
    groups: int
    bandwidth: float
    degrees: tuple[tuple[int, ...], ...]
    lacking: tuple[tuple[float, ...], ...]

    @classmethod
    def by_samples(cls, graph: ModelGraph, gpus: int, bandwidth: float) -> "TensorParallel":
        """None: each of so many GPUs of a server computes some samples of its part, and has all its weights."""
        whole = tuple((1,) * op.rank for op in graph.operators)
        return cls(1, gpus, bandwidth, whole, tuple((0.0,) * len(op.inputs) for op in graph.operators))

    def of_gpus(self, op: Operator, degrees: tuple[int, ...]) -> tuple[int, ...]:
        """The config of what one GPU computes, or groups that share samples, of a part cut by ``degrees``."""
        both = [1] * (op.rank + 1)
        for cut in (degrees, self.degrees[op.index]):
            for k, degree in enumerate(cut):
                both[k] *= degree
        return tuple(both if both[-1] > 1 else both[:-1])

    def brought_seconds(self, op: Operator, degrees: tuple[int, ...], precision: Precision) -> float:
        """Seconds of each pass in which a group's GPUs bring each other what they lack for a part."""
        bytes_ = 0.0
        for share, source in zip(self.lacking[op.index], part_of(op, degrees, self.groups).inputs, strict=False):
            size = precision.activation_bytes if source.tensor.dtype == "float" else ELEMENT_BYTES[source.tensor.dtype]
            bytes_ += share * source.tensor.volume * size
        return bytes_ / self.bandwidth

    def is_cut(self, op: Operator) -> bool:
        """Whether the GPUs of a group share more of an operator than samples."""
        return any(n > 1 for k, n in enumerate(self.degrees[op.index]) if k != op.rank - 1)

    def of_operators(self, operators: Sequence[int]) -> "TensorParallel":
        """The same for some of the operators, in the order given."""
        degrees, lacking = tuple(self.degrees[op] for op in operators), tuple(self.lacking[op] for op in operators)
        return replace(self, degrees=degrees, lacking=lacking)


def in_groups(
    graph: ModelGraph,
    candidates: Sequence[Entries],
    parallel: TensorParallel,
    on: Roofline,
    precision: Precision,
    *,
    held: bool,
) -> tuple[Entries, ...]:
    """The configs of every operator, with the times and memory of one GPU of a group.

    A config that cannot be cut further is left out.  Times are those of what is known times the ratio that the roofline
    has, and what it takes to bring what is lacking.

    Parameters
    ----------
    graph : ModelGraph
    candidates : sequence of tuple of Entry
        Of every operator, as known: each of ``on.big_gpu`` GPUs of a server computes some samples.
    parallel : TensorParallel
    on : Roofline
        Whose ratios are taken.
    precision : Precision
        Of what is brought and held.
    held : bool
        Whether memory is that of `flexnet.cost.memory.held_bytes`; otherwise by ratio, too.
    """
    known: dict[tuple[object, ...], Entries] = {}
    found = []
    for op, readers, entries in zip(graph.operators, readers_of(graph), candidates, strict=True):
        same = shape_name(op), readers, entries, parallel.degrees[op.index], parallel.lacking[op.index]
        if same not in known:
            of_gpus = [(entry, parallel.of_gpus(op, entry.degrees)) for entry in entries]
            cuts = [(entry, degrees) for entry, degrees in of_gpus if _divides(op, degrees)]
            known[same] = tuple(
                _with_exchange(parallel, op, _cut(*cut, op, parallel, on, readers), precision) for cut in cuts
            )
            if held:
                gpus = parallel.groups
                known[same] = tuple(
                    replace(entry, memory=held_bytes(op, degrees, gpus, precision, readers))
                    for entry, (_, degrees) in zip(known[same], cuts, strict=True)
                )
        found.append(known[same])
    return tuple(found)


def _cut(
    entry: Entry,
    degrees: tuple[int, ...],
    op: Operator,
    parallel: TensorParallel,
    on: Roofline,
    readers: tuple[int, ...],
) -> Entry:
    """A config whose parts are cut by ``degrees`` in all: estimated from another one, if that was measured."""
    if degrees == entry.degrees and parallel.groups == on.big_gpu:
        return entry
    wanted = on._replace(big_gpu=parallel.groups).of(op, degrees, readers)
    cut = by_ratio(entry.degrees, entry, wanted, on.of(op, entry.degrees, readers))
    return replace(cut, estimated=entry.estimated or not on.held)


def _with_exchange(parallel: TensorParallel, op: Operator, entry: Entry, precision: Precision) -> Entry:
    brought = parallel.brought_seconds(op, entry.degrees, precision)
    return replace(entry, forward=entry.forward + brought, backward=entry.backward + brought)


def _divides(op: Operator, degrees: tuple[int, ...]) -> bool:
    """Whether the parts of a config are equal."""
    sizes = kind_of(op).cut_sizes(op)
    return all(degree == 1 or sizes.get(k, 1) % degree == 0 for k, degree in enumerate(degrees))
