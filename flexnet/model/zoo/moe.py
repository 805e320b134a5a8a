"""A mixture of experts (arXiv:1701.06538) on flattened digits, as FlexNet's ``moesim`` builds it.

The original cannot measure it: four of its operators have no profiler.
"""

from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType
from flexnet.model.zoo.settings import NoSettings

__all__ = ["build_moe"]

EXPERTS = 5
SELECTED = 2  # experts a sample goes to
ALPHA = 2.0  # room in the experts' buffers over an even share


def build_moe(settings: NoSettings, batch_size: int) -> ModelGraph:
    """Gate, top-2 of five experts, and their rows put together again.

    >>> build_moe(NoSettings(), 32).operators[4].outputs[0].dims
    (784, 26)
    """
    b = GraphBuilder("moe", batch_size)
    x = b.input(784)
    gate = b.dense(x, 64, activation=OpType.RELU)
    gate = b.dense(gate, EXPERTS, activation=OpType.RELU)
    values, assignment = b.topk(gate, SELECTED)
    b.cache(assignment)
    buffers = b.group_by(x, assignment, EXPERTS, ALPHA)
    weights = b.softmax(values)
    experts = [b.softmax(b.dense(rows, 10, activation=OpType.RELU)) for rows in buffers]
    b.aggregate(weights, assignment, experts)
    b.aggregate_spec(weights, assignment, experts)
    return b.build()
