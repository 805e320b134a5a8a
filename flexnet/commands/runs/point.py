"""The row of one point of a sweep."""

from typing import Any

from flexnet.commands.requests.sweep import search_of
from flexnet.commands.runs.measured import measured_of
from flexnet.commands.runs.versions import now, versions

__all__ = ["WORK", "row_of"]

WORK = f"{__name__}:row_of"
"""How workers find `row_of`."""


def row_of(point: dict[str, Any]) -> dict[str, Any]:
    """Compute a point: every input, what came out, and which versions made it.

    Raises
    ------
    FlexNetError
        If the point cannot be computed.
    """
    row: dict[str, Any] = {name: value for name, value in point.items() if name != "sha256"}
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
            row |= measured_of(request, contender).figures()
            row["times"] = "estimated" if row["estimated"] else "measured"
            row["dollar_seconds"] = None if dollars is None else dollars * row["iteration_ms"] * 1e-3
    return {**row, "written": now(), **{f"version_{name}": text for name, text in versions().items()}}
