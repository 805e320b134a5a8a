"""The row of one point of a sweep."""

from typing import Any

import orjson

from flexnet.commands.requests.sweep import search_of
from flexnet.commands.runs.measured import measured_of
from flexnet.commands.runs.versions import now, versions
from flexnet.plan.strategy import Config, configs_of, order_configs
from flexnet.plan.strategy_file import parse_strategy, strategy_json
from flexnet.search.plan import Plan
from flexnet.sweep.store import PLAN

__all__ = ["WORK", "row_of"]

WORK = f"{__name__}:row_of"
"""How workers find `row_of`."""


def row_of(point: dict[str, Any]) -> dict[str, Any]:
    """Compute a point: every input, what came out and by which plan, and which versions made it.

    ``known`` of a point is a plan as rows have them, to begin with beside others; ``warm_start`` tells where from.

    Raises
    ------
    FlexNetError
        If the point cannot be computed.
    """
    row: dict[str, Any] = {name: value for name, value in point.items() if name not in ("sha256", "known")}
    row |= {f"sha256_{name}": digest for name, digest in point["sha256"].items()}
    asked = search_of(point)
    if isinstance(asked, str):
        row["remark"] = asked
    else:
        contender, request = asked
        dollars, chosen = contender.dollars, contender.interfaces
        row |= {"interfaces": chosen.count, "interface_gbps": chosen.gbps, "server_gbps": chosen.total_gbps}
        row |= {"dollars": dollars, "watts": contender.watts, "remark": contender.remark}
        if request is not None:
            known = [order_configs(request.graph, one, "a plan of the sweep") for one in _plans(point)]
            measured = measured_of(request, known=known)
            row |= {"warm_start": "", **row, **measured.figures(), PLAN: _document(measured.found.plan)}
            row["times"] = "estimated" if row["estimated"] else "measured"
            row["dollar_seconds"] = None if dollars is None else dollars * row["iteration_ms"] * 1e-3
    return {**row, "written": now(), **{f"version_{name}": text for name, text in versions().items()}}


def _plans(point: dict[str, Any]) -> list[dict[str, Config]]:
    """Plans that a point brings, by operator."""
    return [parse_strategy(orjson.dumps(point["known"]), "of the sweep")] if "known" in point else []


def _document(plan: Plan) -> dict[str, Any]:
    """The strategy of a plan as JSON can hold it."""
    document: dict[str, Any] = orjson.loads(strategy_json(plan.problem.graph, configs_of(plan.problem, plan.strategy)))
    return document
