"""What the report of a run tells, as plain values: everything that is drawn or written on the page comes from here."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from flexnet.exact.plan_bounds import FIXED
from flexnet.report.attribution import ACTIVITIES, attribute
from flexnet.report.demand import AllDemand, all_demand, coarse
from flexnet.report.link_use import link_use
from flexnet.report.network_values import NetworkValues, network_values
from flexnet.report.run import Run
from flexnet.search.history import History
from flexnet.simulate.arrays import network_arrays
from flexnet.simulate.protocol import TCP
from flexnet.simulate.routed import routed

__all__ = ["OperatorRow", "RunValues", "ServerClass", "folded", "run_values", "servers_text"]

Floats = npt.NDArray[np.float64]

MOST_CLASSES = 8
MOST_CELLS = 64  # of a heat map, each way
MOST_FOLDED = 64  # rows that are looked for again


@dataclass(frozen=True, slots=True)
class ServerClass:
    """Servers whose time went alike: ``seconds`` of every activity in `ACTIVITIES`, the mean over them."""

    servers: tuple[int, ...]
    seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """Operators that follow each other and are cut and placed alike; ``each``: whole, on one of the servers each.

    ``after`` names the operator that their gradients wait for before they are reduced; empty if none.

    Of rows that come again and again, as those of equal layers do, the first are kept, with how many ``times``.
    """

    names: tuple[str, ...]
    kind: str
    cut: str
    servers: tuple[int, ...]
    changed: bool
    after: str = ""
    each: bool = False
    times: int = 1

    @property
    def alike(self) -> tuple[object, ...]:
        """What rows that come again have in common."""
        return (len(self.names), self.kind, self.cut, self.servers, self.changed, self.after, self.each)


@dataclass(frozen=True, slots=True, eq=False)
class RunValues:
    """All that is told of a run; times in seconds, sizes in bytes.

    Parameters
    ----------
    seconds, start_seconds : float
    estimated : bool
        Whether they rest on estimated times.
    bound : float or None
    bound_terms : tuple of (str, float)
        What the bound rests on, heaviest first.
    fixed_bounds : tuple of (str, float)
        With the plan's cuts and places, and with its network too: what takes so long, and seconds at least.
    classes : tuple of ServerClass
    network : NetworkValues
    operators : tuple of OperatorRow
    n_operator, n_changed : int
    history : History or None
    allreduce, transfers : float64 (n_cell, n_cell)
        Bytes between blocks of ``block`` servers.
    block : int
    allreduce_bytes, transfer_bytes : float
    memory : float64 (n_server,)
    memory_limit : float or None
        Of a server.
    """

    seconds: float
    start_seconds: float
    estimated: bool
    bound: float | None
    bound_terms: tuple[tuple[str, float], ...]
    fixed_bounds: tuple[tuple[str, float], ...]
    classes: tuple[ServerClass, ...]
    network: NetworkValues
    operators: tuple[OperatorRow, ...]
    n_operator: int
    n_changed: int
    history: History | None
    allreduce: Floats
    transfers: Floats
    block: int
    allreduce_bytes: float
    transfer_bytes: float
    memory: Floats
    memory_limit: float | None

    @property
    def mean(self) -> tuple[float, ...]:
        """Seconds of every activity, the mean over all servers."""
        n = sum(len(found.servers) for found in self.classes)
        sums = [sum(found.seconds[i] * len(found.servers) for found in self.classes) for i in range(len(ACTIVITIES))]
        return tuple(total / n for total in sums)


def run_values(run: Run) -> RunValues:
    """Work out what there is to tell of a run."""
    document, plan = run.document, run.plan
    network = routed(plan.graph.arrays(), plan.network, TCP)
    arrays = network_arrays(network)
    use = link_use(plan.graph, arrays, TCP)
    demand: AllDemand = all_demand(plan.graph, plan.network)
    block = -(-plan.graph.n_server // MOST_CELLS)
    changed = set(document.get("operators_changed", ()))
    inputs = document["inputs"]
    per_gpu = inputs["settings"]["gpu_memory"]
    bound = document.get("lower_bound_ms")
    gpus = max(int(inputs["big_gpu"]), 1)
    return RunValues(
        seconds=plan.timeline.seconds,
        start_seconds=float(document["initial_ms"]) / 1e3,
        estimated=bool(document["estimated"]),
        bound=None if bound is None else float(bound) / 1e3,
        bound_terms=tuple((str(words), float(share)) for words, share in document.get("bound_terms", {}).items()),
        fixed_bounds=tuple(
            (str(document[f"{name}_bound_of"]), float(document[f"{name}_bound_ms"]) / 1e3)
            for name in FIXED
            if f"{name}_bound_ms" in document
        ),
        classes=server_classes(attribute(plan.graph, plan.timeline).seconds),
        network=network_values(network, use, plan.timeline.seconds, demand),
        operators=_rows(run, changed),
        n_operator=len(plan.operators),
        n_changed=len(changed),
        history=run.history,
        allreduce=coarse(demand.allreduce, block),
        transfers=coarse(demand.transfers, block),
        block=block,
        allreduce_bytes=float(demand.allreduce.sum()),
        transfer_bytes=float(demand.transfers.sum()),
        memory=plan.memory,
        memory_limit=None if per_gpu is None else float(per_gpu) * gpus,
    )


def server_classes(seconds: Floats) -> tuple[ServerClass, ...]:
    """Servers put together by where their time went: as finely as `MOST_CLASSES` classes allow.

    Parameters
    ----------
    seconds : float64 (n_server, n_activity)
    """
    total = max(float(seconds.sum(axis=1).max()), np.finfo(float).tiny)
    for step in (0.04, 0.1, 0.2, 0.5, 2.0):
        _, which = np.unique(np.round(seconds / total / step), axis=0, return_inverse=True)
        which = which.ravel()
        if which.max() < MOST_CLASSES:
            break
    found = []
    for number in range(int(which.max()) + 1):
        mine = np.flatnonzero(which == number)
        found.append(ServerClass(tuple(mine.tolist()), tuple(seconds[mine].mean(axis=0).tolist())))
    return tuple(sorted(found, key=lambda one: (-len(one.servers), one.servers)))


def _rows(run: Run, changed: set[str]) -> tuple[OperatorRow, ...]:
    """Operators in model order, those that follow each other and are alike as one row."""
    rows: list[OperatorRow] = []
    for op in run.plan.operators:
        row = OperatorRow((op.name,), op.kind, op.cut, op.servers, op.name in changed, op.after)
        joined = _joined(rows[-1], row) if rows else None
        if joined is not None:
            rows[-1] = joined
        else:
            rows.append(row)
    return tuple(folded(rows))


def folded(rows: Sequence[OperatorRow]) -> list[OperatorRow]:
    """Rows without those that come again, as of equal layers; of what may begin at a row, that which saves most.

    >>> row = OperatorRow(("x",), "LINEAR", "", (0,), False)
    >>> other = replace(row, kind="ADD")
    >>> [(one.kind, one.times) for one in folded([row, other, row, other, row])]
    [('LINEAR', 2), ('ADD', 2), ('LINEAR', 1)]
    """
    alike = [row.alike for row in rows]
    found: list[OperatorRow] = []
    at = 0
    while at < len(rows):
        best, times = 1, 1
        for length in range(1, min(MOST_FOLDED, (len(rows) - at) // 2) + 1):
            count = 1
            while alike[at + count * length : at + (count + 1) * length] == alike[at : at + length]:
                count += 1
            if length * (count - 1) > best * (times - 1):
                best, times = length, count
        found += [replace(row, times=times) for row in rows[at : at + best]]
        at += best * times
    return found


def _joined(before: OperatorRow, row: OperatorRow) -> OperatorRow | None:
    """Two rows as one, if they are alike."""
    if (before.cut, before.changed, before.after) != (row.cut, row.changed, row.after):
        return None
    names = (*before.names, *row.names)
    if before.servers == row.servers and not before.each:
        kind = before.kind if row.kind in before.kind.split(", ") else f"{before.kind}, {row.kind}"
        return OperatorRow(names, kind, row.cut, row.servers, row.changed, row.after)
    if before.kind == row.kind and len(row.servers) == 1 and (before.each or len(before.servers) == 1):
        servers = tuple(sorted({*before.servers, *row.servers}))
        return OperatorRow(names, row.kind, row.cut, servers, row.changed, row.after, each=True)
    return None


def servers_text(servers: Sequence[int], most: int = 6) -> str:
    """Servers in a few words: runs of numbers as ranges.

    >>> servers_text((0, 1, 2, 3, 7)), servers_text((4,)), servers_text(range(0, 40, 2), 3)
    ('0-3, 7', '4', '0, 2, 4 and 17 more')
    """
    ordered, spans = sorted(servers), list[list[int]]()
    for server in ordered:
        if spans and server == spans[-1][1] + 1:
            spans[-1][1] = server
        else:
            spans.append([server, server])
    told = [f"{a}" if a == b else f"{a}, {b}" if b == a + 1 else f"{a}-{b}" for a, b in spans[:most]]
    left = sum(b - a + 1 for a, b in spans[most:])
    return ", ".join(told) + (f" and {left} more" if left else "")
