"""Whether a cost table has what a search over a model needs."""

from collections.abc import Collection, Sequence
from math import prod

from flexnet.cost.table import CostTable, Entry, config_text
from flexnet.errors import FlexNetError, counted
from flexnet.model.cutting import batch_degrees, divisors
from flexnet.model.graph import ModelGraph, Operator
from flexnet.model.operators import kind_of

__all__ = ["check_config", "check_covers", "data_parallel_servers", "is_data_parallel"]


def is_data_parallel(graph: ModelGraph, degrees: Sequence[Collection[tuple[int, ...]]], n_server: int) -> bool:
    """Whether the batch of every operator that may be cut can be cut over so many servers.

    Parameters
    ----------
    graph : ModelGraph
    degrees : sequence of collections of degrees
        Configs of every operator.
    n_server : int
    """
    return all(batch_degrees(op.rank, n_server) in degrees[op.index] for op in graph.operators if not kind_of(op).whole)


def data_parallel_servers(graph: ModelGraph, degrees: Sequence[Collection[tuple[int, ...]]], n_server: int) -> int:
    """Over how many servers data parallelism can be: the most of those that divide ``n_server``, or one.

    Other parameters are as of `is_data_parallel`.
    """
    return max((n for n in divisors(n_server, n_server) if is_data_parallel(graph, degrees, n)), default=1)


def check_covers(table: CostTable, graph: ModelGraph, *, over_all: bool = True) -> None:
    """Check that a table holds what a search over ``graph`` starts from and that its configs fit the operators.

    Every operator needs its full data-parallel config, except an Embedding, which needs one config that fits
    the servers (simulator.cu:372 and 501).

    Parameters
    ----------
    table : CostTable
    graph : ModelGraph
    over_all : bool
        Whether data-parallel is over all servers; otherwise over as many as all operators can be cut over.

    Raises
    ------
    FlexNetError
        If an operator's measurement or config is missing, or a config has another rank than the operator or
        does not divide its output.
    """
    if table.batch_size != graph.batch_size:
        raise FlexNetError(
            f"{table.source} was measured at batch size {table.batch_size}; "
            f"model {graph.name} has batch size {graph.batch_size}"
        )
    ways = (False, True) if table.shapes else (False,)
    for op in graph.operators:
        if op.key not in table.entries:
            raise FlexNetError(
                f"{table.source} has no measurement {op.key}, which operator {op.name} of model {graph.name} needs; "
                "the model flags must be those it was profiled with"
            )
        for by_shape in ways:
            for entry in table.candidates(op, by_shape=by_shape):
                check_config(table, op, entry)
    for by_shape in ways:
        found = [{entry.degrees for entry in table.candidates(op, by_shape=by_shape)} for op in graph.operators]
        n_server = table.n_server if over_all else data_parallel_servers(graph, found, table.n_server)
        for op in graph.operators:
            _check_start(table, op, found[op.index], n_server)


def check_config(table: CostTable, op: Operator, entry: Entry) -> None:
    """Check that a config of a table fits an operator, if there are servers for all its parts.

    Raises
    ------
    FlexNetError
        If it has another rank than the operator, or does not divide its output or input channels.
    """
    config = config_text(entry.degrees)
    sizes = kind_of(op).cut_sizes(op)
    reduced = op.rank in sizes and len(entry.degrees) == op.rank + 1 and entry.degrees[-1] > 1
    if len(entry.degrees) != op.rank and not reduced:
        raise FlexNetError(
            f"{table.source}: config {config} of {op.key} cuts {len(entry.degrees)} dimensions; "
            f"operator {op.name} has {op.rank}"
        )
    if prod(entry.degrees) > table.n_server:
        return  # more parts than servers: no search can choose it
    for k, (size, degree) in enumerate(zip((*op.outputs[0].dims, sizes.get(op.rank, 1)), entry.degrees, strict=False)):
        if size % degree:
            where = {op.rank - 1: "batch", op.rank: "input channels"}.get(k, f"dimension {k}")
            raise FlexNetError(
                f"{table.source}: config {config} of {op.key} cuts the {where} of operator {op.name}, "
                f"{size}, into {degree} pieces; the degree must divide it"
            )


def _check_start(table: CostTable, op: Operator, found: Collection[tuple[int, ...]], n_server: int) -> None:
    if kind_of(op).whole:
        if all(prod(degrees) > table.n_server for degrees in found):
            raise FlexNetError(
                f"{table.source}: no config of {op.key}, which operator {op.name} needs, "
                f"fits on {table.n_server} servers"
            )
        return
    full = batch_degrees(op.rank, n_server)
    if full not in found:
        over = f"all {n_server} servers" if n_server == table.n_server else counted(n_server, "server")
        raise FlexNetError(
            f"{table.source} lacks config {config_text(full)} of {op.key}: operator {op.name} starts "
            f"data-parallel on {over}"
        )
