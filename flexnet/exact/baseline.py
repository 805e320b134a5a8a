"""Data parallelism, to hold an optimum against."""

import numpy as np

from flexnet.exact.pase import PaseProblem

__all__ = ["data_parallel"]


def data_parallel(problem: PaseProblem) -> tuple[int, ...]:
    """Choices that cut the batch alone, in as many parts as each operator allows.

    The batch is followed through the graph: outermost in the data, and wherever an operator's domain takes it.
    """
    axes: list[tuple[int, ...]] = []  # dimension of every output that is the batch
    choices = []
    for op, domain, configs in zip(problem.graph.operators, problem.domains, problem.configs, strict=True):
        source = op.inputs[0]
        axis = 0 if source.op is None else axes[source.op][source.output]
        batch = domain.inputs[0][axis][0]
        axes.append(tuple(next(i for i, dims in enumerate(cuts) if batch in dims) for cuts in domain.outputs))
        others = np.delete(configs, batch, axis=1)
        alone = np.flatnonzero((others == 1).all(axis=1))
        choices.append(int(alone[np.argmax(configs[alone, batch])]))
    return tuple(choices)
