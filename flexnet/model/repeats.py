"""Repeated blocks of a model: runs of operators that come again and again, as its layers do."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flexnet.model.graph import Operator, RepeatedBlock

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["find_repeats"]

LEAST = 2
"""Operators of a block."""


def find_repeats(operators: Sequence[Operator]) -> tuple[RepeatedBlock, ...]:
    """Blocks of operators of the same kinds and shapes, wired alike, that follow one another several times.

    Of all blocks the one whose repetitions hold most operators is taken, of equals the shortest; then those before
    and behind it are looked for likewise.

    Parameters
    ----------
    operators : sequence of Operator
        In creation order.

    Returns
    -------
    tuple of RepeatedBlock
        In order; none overlap.

    Examples
    --------
    >>> from flexnet.model.builder import GraphBuilder
    >>> b = GraphBuilder("mlp", batch_size=8)
    >>> x = b.dense(b.input(16), 4)
    >>> for _ in range(3):
    ...     x = b.softmax(b.dense(x, 4))
    >>> find_repeats(b.build().operators)
    (RepeatedBlock(first=1, length=2, count=3),)
    """
    import numpy as np

    if len(operators) < 2 * LEAST:
        return ()
    numbers: dict[object, int] = {}
    shapes = np.array([numbers.setdefault(_signature(op), len(numbers)) for op in operators])
    again = np.bincount(shapes)[shapes] > 1  # others, such as a join of thousands of tables, are like none
    most = max((len(op.inputs) for op, is_again in zip(operators, again, strict=True) if is_again), default=0)
    reads = np.full((len(operators), most), -1)
    for row, op, is_again in zip(reads, operators, again, strict=True):
        if is_again:
            row[: len(op.inputs)] = [-1 if source.op is None else source.op for source in op.inputs]
    return tuple(_within(shapes, reads, 0, len(operators)))


def _within(
    shapes: "npt.NDArray[np.int64]", reads: "npt.NDArray[np.int64]", begin: int, end: int
) -> list[RepeatedBlock]:
    best: RepeatedBlock | None = None
    for length in range(LEAST, (end - begin) // 2 + 1):
        if best is not None and end - begin <= best.length * best.count:
            break
        ahead, behind = slice(begin + length, end), slice(begin, end - length)
        moved = reads[ahead] - reads[behind]
        alike = (shapes[ahead] == shapes[behind]) & ((moved == length) | (moved == 0)).all(1)
        first, run = _longest_run(alike)
        if run >= length:
            found = RepeatedBlock(begin + first, length, run // length + 1)
            if best is None or found.length * found.count > best.length * best.count:
                best = found
    if best is None:
        return []
    return [*_within(shapes, reads, begin, best.first), best, *_within(shapes, reads, best.end, end)]


def _longest_run(flags: "npt.NDArray[np.bool_]") -> tuple[int, int]:
    """Where the longest run of flags begins, and how long it is."""
    import numpy as np

    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    if not len(edges):
        return 0, 0
    lengths = edges[1::2] - edges[::2]
    at = int(lengths.argmax())
    return int(edges[2 * at]), int(lengths[at])


def _signature(op: Operator) -> object:
    """All of an operator but its place: what operators of repeated blocks must have in common."""
    inputs = tuple((source.op is None, source.output, source.tensor, source.view) for source in op.inputs)
    return op.kind, op.key, inputs, op.outputs, op.weights, tuple(sorted(op.attrs.items())), op.equation
