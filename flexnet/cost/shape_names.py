"""Shape-qualified measurement names: what the original's names leave out.

The original's profiler names a convolution by its kernel and output channels alone and measures the first of a
name for all (model.cc:2250); in ResNet-50 that gives 53 of 90 operators another one's times.  A shape name says
everything that decides an operator's work.
"""

from collections.abc import Sequence
from itertools import groupby

from flexnet.model.graph import Operator, Tensor
from flexnet.model.operators import kind_of

__all__ = ["shape_name"]


def shape_name(op: Operator) -> str:
    """Return the measurement name, inputs, outputs and details (`OperatorKind.details`) of ``op`` as one name.

    Sizes are innermost first with the whole batch last, as in configs; equal neighbours are counted, element types
    other than float are said.

    >>> from flexnet.model.builder import GraphBuilder
    >>> b = GraphBuilder("m", batch_size=8)
    >>> x = b.dense(b.input(16), 4)
    >>> y = b.concat([x, x, x], axis=1)
    >>> [shape_name(op) for op in b.build().operators]
    ['Dense_16_4@16x8>4x8;activation=0,weights=2', 'Concat_1@3*4x8>12x8;axis=1']
    """
    detail = ",".join(f"{name}={value}" for name, value in sorted(kind_of(op).details(op).items()))
    shapes = f"{op.key}@{_texts([source.tensor for source in op.inputs])}>{_texts(op.outputs)}"
    return f"{shapes};{detail}" if detail else shapes


def _texts(tensors: Sequence[Tensor]) -> str:
    counted = [(text, len(list(same))) for text, same in groupby(map(_text, tensors))]
    return "+".join(text if n == 1 else f"{n}*{text}" for text, n in counted)


def _text(tensor: Tensor) -> str:
    sizes = "x".join(map(str, tensor.dims))
    return sizes if tensor.dtype == "float" else f"{sizes}:{tensor.dtype}"
