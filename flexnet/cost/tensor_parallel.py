"""Tensor parallelism: groups of GPUs of a server that share one part of an operator, and what that takes.

Without it every GPU of a server computes some of the part's samples, and holds all its weights.  A group cuts the part
along other dimensions too, most of all its weights, and its GPUs send each other what they lack over the links inside
of the server, which nothing hides: M. Shoeybi et al. (arXiv:1909.08053, section 3), with sequences cut between the
products (V. Korthikanti et al., arXiv:2205.05198, section 4.2) where that is faster.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from flexnet.cost.estimate import Roofline, by_ratio
from flexnet.cost.gpus import Gpu
from flexnet.cost.memory import held_bytes, readers_of
from flexnet.cost.parts import part_of
from flexnet.cost.shape_names import shape_name
from flexnet.cost.table import CostTable, Entry
from flexnet.errors import FlexNetError
from flexnet.model.cutting import batch_degrees
from flexnet.model.graph import ELEMENT_BYTES, ModelGraph, Operator
from flexnet.model.operators import kind_of
from flexnet.model.precision import Precision

__all__ = ["TensorParallel", "come_out_even", "in_groups"]

Entries = tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class TensorParallel:
    """How a group of GPUs shares a part of every operator; `flexnet.exact.tensor_parallel` finds a fast way.

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
        others: forward, and the gradient as much back.  0 for data, and where an operator that is cut alike got it.
    gpu : Gpu or None
        Whose data sheet tells in what ratio times are scaled; None for that of the table.
    """

    gpus: int
    groups: int
    bandwidth: float
    degrees: tuple[tuple[int, ...], ...]
    lacking: tuple[tuple[float, ...], ...]
    gpu: Gpu | None = None

    @classmethod
    def by_samples(cls, graph: ModelGraph, gpus: int, bandwidth: float) -> "TensorParallel":
        """No groups: each of so many GPUs of a server computes some samples of its part, and has all its weights."""
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
        part, bytes_ = part_of(op, degrees, self.groups), 0.0
        same = len(part.inputs) == len(op.inputs)  # of more towers than parts it reads fewer
        for i, (share, source) in enumerate(zip(self.lacking[op.index], op.inputs, strict=True)):
            tensor = source.tensor
            size = precision.activation_bytes if tensor.dtype == "float" else ELEMENT_BYTES[tensor.dtype]
            read = (
                part.inputs[i].tensor.volume if same else tensor.volume * part.outputs[0].volume / op.outputs[0].volume
            )
            bytes_ += share * read * size
        return bytes_ / self.bandwidth

    def shares_more(self, op: Operator) -> bool:
        """Whether the GPUs of a group share more of an operator than samples."""
        return any(n > 1 for k, n in enumerate(self.degrees[op.index]) if k != op.rank - 1)

    def shares_samples(self, op: Operator) -> bool:
        """Whether all GPUs of a group compute an operator, of some samples each, as they do without groups."""
        return self.degrees[op.index] == batch_degrees(op.rank, self.gpus)

    def of_operators(self, operators: Sequence[int]) -> "TensorParallel":
        """The same for some of the operators, in the order given."""
        degrees, lacking = tuple(self.degrees[op] for op in operators), tuple(self.lacking[op] for op in operators)
        return replace(self, degrees=degrees, lacking=lacking)


def in_groups(
    graph: ModelGraph,
    candidates: Sequence[Entries],
    parallel: TensorParallel,
    table: CostTable,
    big_gpu: int,
    *,
    held: bool,
) -> tuple[Entries, ...]:
    """The configs of every operator, with the times and memory of one GPU of a group.

    A config whose parts do not come out even is left out.  Times are those of what is known times the ratio that the
    roofline has, and what it takes to bring what is lacking.

    Parameters
    ----------
    graph : ModelGraph
    candidates : sequence of tuple of Entry
        Of every operator, as known.
    parallel : TensorParallel
    table : CostTable
        Where they are from.
    big_gpu : int
        GPUs of a server, each of which computes some samples, of which they are known.
    held : bool
        Whether memory is that of `flexnet.cost.memory.held_bytes`; otherwise by ratio, too.

    Raises
    ------
    FlexNetError
        If no config of an operator is left.
    """
    on = Roofline.of_table(table, big_gpu, held=table.estimated, gpu=parallel.gpu)
    known: dict[tuple[object, ...], Entries] = {}
    found = []
    for op, readers, entries in zip(graph.operators, readers_of(graph), candidates, strict=True):
        same = shape_name(op), readers, entries, parallel.degrees[op.index], parallel.lacking[op.index]
        if same not in known:
            cuts = [(entry, parallel.of_gpus(op, entry.degrees)) for entry in entries]
            known[same] = tuple(
                _of_gpu(op, entry, degrees, parallel, table, on, readers, held=held)
                for entry, degrees in cuts
                if come_out_even(op, degrees)
            )
        if not known[same]:
            raise FlexNetError(
                f"operator {op.name} ({op.key}) has no config whose parts {parallel.gpus} GPUs could cut "
                f"{parallel.degrees[op.index]} evenly"
            )
        found.append(known[same])
    return tuple(found)


def _of_gpu(
    op: Operator,
    entry: Entry,
    degrees: tuple[int, ...],
    parallel: TensorParallel,
    table: CostTable,
    on: Roofline,
    readers: tuple[int, ...],
    *,
    held: bool,
) -> Entry:
    """A config of a server's part with what one of its GPUs takes, which computes a part by ``degrees``."""
    cut = entry
    if part_of(op, degrees, parallel.groups) != part_of(op, entry.degrees, on.big_gpu):
        wanted = on._replace(big_gpu=parallel.groups).of(op, degrees, readers)
        cut = by_ratio(entry.degrees, entry, wanted, on.of(op, entry.degrees, readers))
        cut = replace(cut, estimated=entry.estimated or not table.estimated)
    memory = held_bytes(op, degrees, parallel.groups, table.precision, readers) if held else cut.memory
    brought = parallel.brought_seconds(op, entry.degrees, table.precision)
    return replace(cut, forward=cut.forward + brought, backward=cut.backward + brought, memory=memory)


def come_out_even(op: Operator, degrees: tuple[int, ...]) -> bool:
    """Whether the parts of a config are equal."""
    sizes = kind_of(op).cut_sizes(op)
    return all(degree == 1 or sizes.get(k, 1) % degree == 0 for k, degree in enumerate(degrees))
