"""The strategy: how operators are cut and placed."""

from flexnet.errors import counted
from flexnet.report.page import Row, Section, Table
from flexnet.report.values import OperatorRow, RunValues, servers_text

__all__ = ["strategy_section"]

SHOWN = 60
NEW = "not data parallel"


def strategy_section(values: RunValues) -> Section:
    """Operators in model order, those that follow each other and are alike as one row, and equal layers as one."""
    n, changed = values.n_operator, values.n_changed
    lead = (
        f"All {n} operators are as in data parallelism."
        if not changed
        else f"{changed} of {counted(n, 'operator')} {'differs' if changed == 1 else 'differ'} from data parallelism, "
        "which is marked."
    )
    rows = values.operators
    columns: tuple[str, ...] = ("operators", "kind", "cut", "parts", "servers")
    if any(row.after for row in rows):
        columns += ("reduced after",)
    cells = tuple(_row(row, len(columns)) for row in rows)
    first = Table("Cuts and placement, in model order", columns, cells[:SHOWN], numeric=(3,))
    rest = cells[SHOWN:]
    more = (Table(f"{len(rest)} more rows", columns, rest, numeric=(3,), folded=True),) if rest else ()
    return Section("strategy", "The strategy", lead, (first, *more))


def _row(row: OperatorRow, n_column: int) -> Row:
    names = row.names[0] if len(row.names) == 1 else f"{len(row.names)} from {row.names[0]} to {row.names[-1]}"
    if row.times > 1:
        names += f", {row.times} times"
    cut = row.cut or ("by samples" if len(row.servers) > 1 else "whole")
    kinds = row.kind.lower().replace("_", " ")
    if row.each:
        cut = "whole, each on one server"
    parts = "1" if row.each else str(len(row.servers))
    cells = (names, kinds, cut, parts, servers_text(row.servers, 4), row.after)[:n_column]
    return Row(cells, NEW if row.changed else "")
