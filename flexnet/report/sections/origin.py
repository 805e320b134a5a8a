"""Where the run comes from, and how to get it again."""

import shlex
from collections.abc import Mapping
from typing import Any

from flexnet.report.page import Block, Code, Row, Section, Table, Text

__all__ = ["origin_section"]


def origin_section(document: Mapping[str, Any]) -> Section:
    """Command, inputs with their hashes, versions, and how much of the times is estimated.

    Parameters
    ----------
    document : Mapping
        ``run.json``.
    """
    versions = ", ".join(f"{name} {number}" for name, number in document["versions"].items())
    cuts = document.get("estimated_cuts", {"operators": 0.0, "compute_time": 0.0})
    lead = (
        f"Times are {'estimates' if document['estimated'] else 'measured'} ({document['times']}): "
        f"{100 * cuts['operators']:.0f} % of the operators and {100 * cuts['compute_time']:.0f} % of the compute time "
        "rest on estimates."
    )
    typed = shlex.join(document["command_line"])
    command = shlex.join(["flexnet", "search", *document["arguments"]])
    blocks: list[Block] = [Code(_again(document), command), Code("As it was typed", typed)]
    files = document["files"]
    if files:
        rows = tuple(Row((flag, item["path"], item["sha256"])) for flag, item in files.items())
        blocks.append(Table("Files that were read", ("flag", "file", "SHA-256"), rows))
    else:
        blocks.append(Text("No files were read."))
    inputs = tuple(Row((name, text)) for name, text in _flat(document["inputs"]))
    blocks.append(Table("All inputs", ("input", "value"), inputs, folded=True))
    if document["remarks"]:
        remarks = tuple(Row((text,)) for text in document["remarks"])
        blocks.append(Table("What the packet simulator will not simulate as meant", ("remark",), remarks))
    blocks.append(Text(f"Written {document['written']} by {versions}."))
    return Section("origin", "How to get it again", lead, tuple(blocks))


def _again(document: Mapping[str, Any]) -> str:
    """What the command of a run does if it is run once more."""
    extended = document.get("extended_at", [])
    if extended:
        after = ", ".join(map(str, extended))
        return (
            "This command searches the same at one go, which may end elsewhere: the run was resumed with other limits "
            f"after {after} proposals"
        )
    if document["status"] == "interrupted":
        return "This command begins the search anew; this run of it was stopped"
    if "--time" in document["arguments"]:
        return "This command searches the same, and for as long; the plan depends on how far it gets in that time"
    return "This command finds the plan again"


def _flat(inputs: Mapping[str, Any], before: str = "") -> list[tuple[str, str]]:
    """Nested inputs as names with dots, and their values as text."""
    found: list[tuple[str, str]] = []
    for name, value in inputs.items():
        found += _flat(value, f"{before}{name}.") if isinstance(value, dict) else [(f"{before}{name}", str(value))]
    return found
