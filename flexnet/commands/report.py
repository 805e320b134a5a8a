"""``flexnet report DIR``: a page on what a search found."""

from pathlib import Path

import click

from flexnet.commands.console.printing import say
from flexnet.commands.requests.flags import Command, Flag, only_word
from flexnet.commands.requests.types import FilePath

__all__ = ["report"]


def _report(words: tuple[str, ...], output: Path | None) -> int:
    usage = "no run given; use flexnet report DIR, with a directory that flexnet search -o DIR wrote"
    directory = Path(only_word(words, "report", "directory", usage))

    from flexnet.commands.runs.outcome import read_run
    from flexnet.files import check_writable, write_atomically
    from flexnet.report.extra import check_extra
    from flexnet.report.run_report import run_report

    check_extra()
    run = read_run(directory)
    path = output or directory / "report.html"
    check_writable(path)
    write_atomically(path, run_report(run).encode())
    say(f"wrote {path}")
    return 0


report = Command(
    "report",
    params=[
        click.Argument(["words"], nargs=-1, metavar="DIR", required=False, type=click.Path()),
        Flag(
            ["output", "--output", "-o"],
            type=FilePath(),
            metavar="FILE",
            help="where to write the page (default DIR/report.html)",
        ),
    ],
    callback=_report,
    help="Makes a page on what a search found, from the directory that flexnet search -o DIR wrote.\n\n"
    "One HTML file with everything in it; it needs no network and no scripts.",
)
