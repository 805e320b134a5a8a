"""Which consumers of a tensor share the transfers that bring it."""

import numpy as np

from flexnet.kernels import inlined
from flexnet.plan.kernels.reads import read_along

__all__ = ["shared_edge"]


@inlined
def shared_edge(problem, strategy, edge):  # type: ignore[no-untyped-def]
    """The last edge before this one that brings the same elements of a tensor to the same servers; -1: none does."""
    other = problem.edge_before[edge]
    while other >= 0 and not _reads_alike(problem, strategy, edge, other):
        other = problem.edge_before[other]
    return other


@inlined
def _reads_alike(problem, strategy, edge, other):  # type: ignore[no-untyped-def]
    """Whether the parts of two consumers of a tensor read the same of it, part by part on the same servers."""
    dst, dst_other = np.uint32(problem.edge_dst[edge]), np.uint32(problem.edge_dst[other])
    consumer = np.uint32(problem.candidate_ptr[dst] + strategy.choice[dst])
    consumer_other = np.uint32(problem.candidate_ptr[dst_other] + strategy.choice[dst_other])
    n = problem.parts[consumer]
    if problem.parts[consumer_other] != n:
        return False
    for j in range(n):
        if strategy.devices[dst, j] != strategy.devices[dst_other, j]:
            return False
    # Cut in other ways, they may read the same still: a concatenation beside an addition.
    return _cut_alike(problem, edge, consumer, other, consumer_other) or _same_elements(
        problem, edge, consumer, other, consumer_other
    )


@inlined
def _cut_alike(problem, edge, consumer, other, consumer_other):  # type: ignore[no-untyped-def]
    """Whether every dimension of a tensor is read by the same rule."""
    for k in range(problem.edge_rank[edge]):
        degree, stride = _cut_along(problem, consumer, problem.edge_split[edge, k])
        degree_other, stride_other = _cut_along(problem, consumer_other, problem.edge_split[other, k])
        if degree != degree_other:
            return False
        if degree > 1 and (
            stride != stride_other
            or problem.edge_extent[edge, k] != problem.edge_extent[other, k]
            or problem.edge_stride[edge, k] != problem.edge_stride[other, k]
            or problem.edge_window[edge, k] != problem.edge_window[other, k]
            or problem.edge_padding[edge, k] != problem.edge_padding[other, k]
        ):
            return False
    return True


@inlined
def _same_elements(problem, edge, consumer, other, consumer_other):  # type: ignore[no-untyped-def]
    """Whether parts of two consumers read the same elements, one by one; they have as many."""
    for j in range(problem.parts[consumer]):
        same, none, none_other = True, False, False
        for k in range(problem.edge_rank[edge]):
            degree, stride = _cut_along(problem, consumer, problem.edge_split[edge, k])
            degree_other, stride_other = _cut_along(problem, consumer_other, problem.edge_split[other, k])
            low, high = read_along(problem, edge, k, consumer, j // stride % degree)
            low_other, high_other = read_along(problem, other, k, consumer_other, j // stride_other % degree_other)
            same = same and low == low_other and high == high_other
            none = none or low >= high
            none_other = none_other or low_other >= high_other
        if not (same or (none and none_other)):
            return False
    return True


@inlined
def _cut_along(problem, candidate, dim):  # type: ignore[no-untyped-def]
    """Degree of a config dimension, 1 of none (-1), and how many parts lie between two neighbours along it."""
    if dim < 0:
        return 1, 1
    stride = 1
    for k in range(dim):
        stride *= problem.degrees[candidate, k]
    return problem.degrees[candidate, dim], stride
