"""What a part of an operator reads of an input."""

from flexnet.kernels import inlined

__all__ = ["read_along"]


@inlined
def read_along(problem, edge, k, consumer, at):  # type: ignore[no-untyped-def]
    """First element of dimension ``k`` read by a consumer's parts that are ``at``-th along it, and the one behind."""
    extent = problem.edge_dims[edge, k]
    split = problem.edge_split[edge, k]
    if split < 0 or problem.degrees[consumer, split] == 1:
        return 0, extent
    piece = problem.edge_extent[edge, k] // problem.degrees[consumer, split]
    first = at * piece
    stride, padding = problem.edge_stride[edge, k], problem.edge_padding[edge, k]
    return (
        max(first * stride - padding, 0),
        min((first + piece - 1) * stride - padding + problem.edge_window[edge, k], extent),
    )
