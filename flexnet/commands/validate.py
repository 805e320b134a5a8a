"""``flexnet validate --data DIR``: recompute what was published."""

from pathlib import Path

import click

from flexnet.commands.console.printing import say
from flexnet.commands.requests.flags import Command, Flag
from flexnet.errors import FlexNetError

__all__ = ["validate"]


def _validate(words: tuple[str, ...], data: str | None) -> int:
    if words:
        raise FlexNetError(f"unexpected argument {words[0]!r}; use flexnet validate --data DIR")
    if not data or "\0" in data:
        raise FlexNetError("--data is missing; it names the directory with measurements/, taskgraphs/ and costs/")

    from flexnet.published.case import LeftOut
    from flexnet.published.validate import recomputed

    n_ok = n_wrong = n_damaged = 0
    for case in recomputed(Path(data)):
        if isinstance(case, LeftOut):
            say(f"left out   {' '.join(case.sentence.split())}")
            continue
        n_ok += case.ok
        if case.problem:
            n_damaged += 1
            say(f"{case.name:<48} FAIL: {' '.join(case.problem.split())}")
            continue
        n_wrong += not case.ok
        say(
            f"{case.name:<48} ours {case.ours:<24} theirs {case.theirs:<16} difference {case.difference:<12} "
            f"tolerance {case.tolerance:<16} {'ok' if case.ok else 'FAIL'}"
        )
    damaged = f", {n_damaged} could not be recomputed" if n_damaged else ""
    say(f"{n_ok + n_wrong + n_damaged} cases: {n_ok} ok, {n_wrong} out of tolerance{damaged}")
    return 1 if n_wrong or n_damaged else 0


validate = Command(
    "validate",
    params=[
        click.Argument(["words"], nargs=-1, metavar="", required=False),
        Flag(["data", "--data"], metavar="DIR", help="directory with measurements/, taskgraphs/ and costs/"),
    ],
    callback=_validate,
    help="Recomputes every published case found in a directory; exits with 1 if one is out of tolerance or cannot be "
    "done.",
)
