"""Which configs of an operator a profiler measures, and which a search may choose: the search space of an operator.

Reference: model.cc:2306:measure_all and the ``measure_operator_cost`` functions of FlexFlow's ops/*.cu, which
refuse tensors their libraries cannot handle.  What holds for a kind of operator alone, the kind says
(`flexnet.model.operators.kind.OperatorKind`).
"""

from collections.abc import Mapping
from math import gcd, prod

from flexnet.errors import FlexNetError
from flexnet.model.cutting import divisors
from flexnet.model.graph import Operator, Tensor
from flexnet.model.operators import kind_of

__all__ = ["CUTS", "every_degrees", "measured_degrees", "why_not_measured"]

CUTS = ("all", "measured")
"""Which configs a search may choose: those of `every_degrees`, or those that its table has."""

FEW = 32
"""Configs of an operator of which all are candidates; of more, those that cut two dimensions at most."""


def measured_degrees(
    op: Operator,
    *,
    n_server: int,
    big_gpu: int,
    parameter_parallel: bool = False,
    attribute_parallel: bool = False,
    max_local: int | None = None,
) -> list[tuple[int, ...]]:
    """Configs of ``op`` that a profiler measures, ascending in parts.

    Parameters
    ----------
    op : Operator
    n_server : int
        Servers (``--nsimnode``), one device each.
    big_gpu : int
        GPUs of a server acting as one (``--big-gpu``); 0 for one GPU. Degree ``i`` then stands for ``i * big_gpu``
        pieces of the batch, one for each GPU, and is left out if these do not divide the batch.
    parameter_parallel : bool
        Linear, and what else is `channel_parallel`, may also split its output channels
        (``--enable-parameter-parallel``): all (channel, batch) degrees that divide their sizes and make at most
        ``n_server`` parts, whatever the libraries can handle.
    attribute_parallel : bool
        Operators on images may also split width and height (``--enable-attribute-parallel``, which the original
        parses and does not use): convolutions, poolings, element-wise operators, dropouts and joins along channels,
        where the degrees divide the sizes read and written, and the parts divide the servers.
    max_local : int, optional
        Most samples on one GPU (``--max-localsz``).

    Returns
    -------
    list of tuple of int
        Degrees per dimension of output 0, innermost first, batch last.

    Raises
    ------
    FlexNetError
        If ``n_server`` or ``big_gpu`` is out of range.

    Notes
    -----
    The published transformer16 and transformer32 files have fewer attention configs: an attention limit between
    64 and 127 samples was in force when they were made, not the 432 of the released code.

    Examples
    --------
    >>> from flexnet.model.builder import GraphBuilder
    >>> b = GraphBuilder("mlp", batch_size=24)
    >>> x = b.dense(b.input(16), 4)
    >>> measured_degrees(b.build().operators[0], n_server=8, big_gpu=2)
    [(1, 1), (1, 2), (1, 4)]
    """
    if n_server < 1 or big_gpu < 0:
        raise FlexNetError(f"cannot cut for {n_server} servers of {big_gpu} GPUs; use at least 1 server and 0 GPUs")
    inner = (1,) * (op.rank - 1)
    if kind_of(op).whole:
        return [(*inner, 1)]
    if kind_of(op).channel_parallel and parameter_parallel:
        channels, batch = op.outputs[0].dims[0], op.outputs[0].dims[-1]
        pairs = [(c, b) for c in divisors(channels, n_server) for b in divisors(batch, n_server // c)]
        return [(c, *inner[1:], b) for c, b in sorted(pairs, key=lambda pair: (pair[0] * pair[1], pair[0]))]
    gpus = max(big_gpu, 1)
    limit = _local_limit(op, max_local)
    cuts = _spatial_cuts(op, n_server) if attribute_parallel else [()]
    found = [
        (*cut, *inner[len(cut) :], degree)
        for cut in cuts
        for degree in divisors(n_server // prod(cut), n_server)
        if _divides(op, degree * gpus)
        and (limit is None or op.outputs[0].dims[-1] // (degree * gpus) <= limit)
        and _too_large(op, degree * gpus * prod(cut)) is None
    ]
    return sorted(found, key=lambda degrees: (prod(degrees), degrees))


def every_degrees(op: Operator, *, n_server: int, big_gpu: int) -> list[tuple[int, ...]]:
    """Configs of ``op`` along all that its kind allows (`OperatorKind.axes`), ascending in parts.

    Parameters
    ----------
    op : Operator
    n_server : int
        Most parts.
    big_gpu : int
        GPUs of a server acting as one.  They share a part's batch, which they must divide if they divide that of the
        model.

    Returns
    -------
    list of tuple of int
        Degrees per dimension of output 0, innermost first, batch last, and behind them that of a reduction if it is
        above 1.  All that divide their sizes if these are at most `FEW`; else those that cut two dimensions at most.

    Examples
    --------
    >>> from flexnet.model.builder import GraphBuilder
    >>> b = GraphBuilder("mlp", batch_size=24)
    >>> x = b.dense(b.input(3), 4)
    >>> every_degrees(b.build().operators[0], n_server=3, big_gpu=0)
    [(1, 1), (1, 2), (2, 1), (1, 1, 3), (1, 3)]
    """
    sizes = dict(kind_of(op).cut_sizes(op))
    batch = op.rank - 1
    if batch in sizes:
        sizes[batch] //= gcd(sizes[batch], max(big_gpu, 1))
    found = _products(sizes, n_server)
    if len(found) > FEW:
        found = [cut for cut in found if len(cut) <= 2]
    configs = []
    for cut in found:
        degrees = [1] * (op.rank + 1)
        for k, degree in cut.items():
            degrees[k] = degree
        configs.append(tuple(degrees if degrees[-1] > 1 else degrees[:-1]))
    return sorted(configs, key=lambda degrees: (prod(degrees), degrees))


def _products(sizes: Mapping[int, int], most: int) -> list[dict[int, int]]:
    """Degrees above 1 of some dimensions, each a divisor of the dimension's size, with at most so many parts."""
    found: list[dict[int, int]] = [{}]
    for k, size in sizes.items():
        found += [{**cut, k: n} for cut in found for n in divisors(size, most // prod(cut.values())) if n > 1]
    return found


def why_not_measured(op: Operator, *, n_server: int, big_gpu: int, max_local: int | None = None) -> str:
    """Why `measured_degrees` has no config that cuts the batch of ``op`` over all servers, and what would be right."""
    gpus = max(big_gpu, 1)
    parts, limit = n_server * gpus, _local_limit(op, max_local)
    larger = "a smaller --batch-size, more servers or a larger --big-gpu helps"
    if not _divides(op, parts):
        sizes = sorted({tensor.dims[-1] for tensor in _tensors(op)})
        right = -(-sizes[0] // parts) * parts
        return (
            f"its batch ({', '.join(map(str, sizes))}) must be a multiple of {parts}, such as {right}; choose another "
            "--batch-size or fewer servers"
        )
    local = op.outputs[0].dims[-1] // parts
    if limit is not None and local > limit:
        return f"a part has {local} samples, more than the {limit} that one GPU may have; {larger}"
    size, most = _too_large(op, parts) or (0, 0)
    return f"a tensor of a part has {size} bytes, more than the {most} that the libraries can handle; {larger}"


def _tensors(op: Operator) -> tuple[Tensor, ...]:
    return (*op.outputs, *(source.tensor for source in op.inputs))


def _spatial_cuts(op: Operator, n_server: int) -> list[tuple[int, ...]]:
    """Ways to cut the width and height of an image, the uncut one first."""
    if op.rank != 4 or not kind_of(op).spatial(op):
        return [()]
    tensors = _tensors(op)
    return [
        (across, down)
        for across in divisors(n_server, n_server)
        for down in divisors(n_server // across, n_server)
        if all(tensor.dims[0] % across == 0 and tensor.dims[1] % down == 0 for tensor in tensors)
    ]


def _local_limit(op: Operator, max_local: int | None) -> int | None:
    """Most samples on one GPU."""
    limits = (max_local, kind_of(op).most_samples)
    return min((limit for limit in limits if limit is not None), default=None)


def _divides(op: Operator, parts: int) -> bool:
    return all(tensor.dims[-1] % parts == 0 for tensor in _tensors(op))


def _too_large(op: Operator, parts: int) -> tuple[int, int] | None:
    """Bytes of the largest piece of ``parts`` and the most the libraries of the original take; None if they take it."""
    sizes = [(4 * tensor.volume // parts, most) for tensor, most in kind_of(op).size_limits(op)]
    return max((found for found in sizes if found[0] > found[1]), default=None)
