"""Whether a cost table has what a search over a model needs."""

from math import prod

from flexnet.cost.table import CostTable, Entry, config_text
from flexnet.errors import FlexNetError
from flexnet.model.cutting import batch_degrees
from flexnet.model.graph import ModelGraph, Operator
from flexnet.model.operators import kind_of

__all__ = ["check_config", "check_covers"]


def check_covers(table: CostTable, graph: ModelGraph, n_server: int | None = None) -> None:
    """Check that a table holds what a search over ``graph`` starts from and that its configs fit the operators.

    Every operator needs its full data-parallel config, except an Embedding, which needs one config that fits
    the servers (simulator.cu:372 and 501).

    Parameters
    ----------
    table : CostTable
    graph : ModelGraph
    n_server : int, optional
        Over which a search starts data-parallel: all, unless a micro-batch is too small for that.

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
    for op in graph.operators:
        if op.key not in table.entries:
            raise FlexNetError(
                f"{table.source} has no measurement {op.key}, which operator {op.name} of model {graph.name} needs; "
                "the model flags must be those it was profiled with"
            )
        for by_shape in (False, True) if table.shapes else (False,):
            found = table.candidates(op, by_shape=by_shape)
            for entry in found:
                check_config(table, op, entry)
            _check_start(table, op, found, table.n_server if n_server is None else n_server)


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


def _check_start(table: CostTable, op: Operator, entries: tuple[Entry, ...], n_server: int) -> None:
    found = [entry.degrees for entry in entries]
    if kind_of(op).whole:
        if all(prod(degrees) > table.n_server for degrees in found):
            raise FlexNetError(
                f"{table.source}: no config of {op.key}, which operator {op.name} needs, "
                f"fits on {table.n_server} servers"
            )
        return
    full = batch_degrees(op.rank, n_server)
    if full not in found:
        raise FlexNetError(
            f"{table.source} lacks config {config_text(full)} of {op.key}: operator {op.name} starts "
            f"data-parallel on {'all ' if n_server == table.n_server else ''}{n_server} servers"
        )
