"""Tokens sent to experts and back: rows gathered in an order that sorts them by their experts.

Which rows go where hangs on data.  Every expert is taken to get as many rows of every sample (or every group of
experts, where rows do not divide), so rows in order of experts are a tensor of samples, experts and rows: parts of it
along samples stay with theirs, and parts along experts are what an all-to-all exchanges.
"""

from math import gcd, prod

from flexnet.importing.aten import Reader
from flexnet.importing.calls import Call
from flexnet.importing.values import Role, Value, split_factors

__all__ = ["routed_rows"]

SAMPLE, EXPERT, ROW, FIRST = 0, 1, 2, 3


def routed_rows(reader: Reader, call: Call, value: Value, chosen: Value) -> Value | None:
    """Rows of a tensor in order of experts, or, if they are, back in order of tokens; None if these are no samples'.

    Parameters
    ----------
    reader : Reader
    call : Call
        The gather; its output has one row for each of ``chosen``.
    value : Value
        What is gathered from.
    chosen : Value
        Experts of all tokens.
    """
    n_row, batch = call.shape[0], reader.batch_size
    if n_row % batch or not chosen.base.batched:
        return None
    within = n_row // batch
    experts = reader.n_expert.get(call.where, 1)
    groups = gcd(experts, within)
    rest = list(range(FIRST, FIRST + len(call.shape) - 1))
    sizes = {SAMPLE: batch, EXPERT: groups, ROW: within // groups, **dict(zip(rest, call.shape[1:], strict=True))}
    ids = split_factors(chosen.dims[0], (batch, chosen.volume // batch))
    if ids is None:
        return None
    routes: tuple[Value, list[int | None]] = (Value(chosen.base, ids), [SAMPLE, None])
    if value.base in reader.recorder.by_expert:
        return _back(reader, call, value, routes, sizes, rest)
    if value.base.role is Role.PARAMETER:
        if value.shape[0] != groups:
            return None
        read: tuple[Value, list[int | None]] = (value, [EXPERT, *rest])
    else:
        rows = split_factors(value.dims[0], (batch, value.shape[0] // batch))
        if rows is None or not value.base.batched:
            return None
        read = (Value(value.base, (*rows, *value.dims[1:])), [SAMPLE, None, *rest])
    made = reader.recorder.record(
        "light",
        call.name,
        call.where,
        [read, routes],
        [([SAMPLE, EXPERT, ROW, *rest], call.dtypes[0])],
        sizes,
        private=frozenset() if value.base.role is Role.PARAMETER else frozenset([EXPERT, ROW]),
        no_grad=reader.no_grad,
        exact=True,
    )[0]
    reader.recorder.by_expert.add(made.base)
    sample, expert, row, *others = made.dims
    return Value(made.base, (expert + sample + row, *others))


def _back(
    reader: Reader,
    call: Call,
    value: Value,
    routes: tuple[Value, list[int | None]],
    sizes: dict[int, int],
    rest: list[int],
) -> Value | None:
    pieces = split_factors(value.dims[0], (sizes[EXPERT], sizes[SAMPLE], sizes[ROW]))
    if pieces is None:
        return None
    within = prod((sizes[EXPERT], sizes[ROW]))
    read = (Value(value.base, (*pieces, *value.dims[1:])), [None, SAMPLE, None, *rest])
    made = reader.recorder.record(
        "light",
        call.name,
        call.where,
        [read, routes],
        [([SAMPLE, ROW, *rest], call.dtypes[0])],
        {SAMPLE: sizes[SAMPLE], ROW: within, **{k: sizes[k] for k in rest}},
        private=frozenset([ROW]),
        no_grad=reader.no_grad,
        exact=True,
    )[0]
    reader.recorder.by_expert.discard(made.base)
    sample, row, *others = made.dims
    return Value(made.base, (sample + row, *others))
