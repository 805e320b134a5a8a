"""What a shell offers after Tab."""

import subprocess
import sys

import pytest
from command_lines import ROOT, environment


def offered(line: str) -> list[str]:
    """What bash would be offered for the last word of a line."""
    words = line.split(" ")
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_FLEXNET_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-m", "flexnet"],
        env={**environment(), **asked},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("flexnet se", ["plain,search"]),
        ("flexnet search dl", ["plain,dlrm"]),
        ("flexnet search dlrm --topology f", ["plain,fattree", "plain,fc", "file,f"]),
        ("flexnet search dlrm --arch-mlp", ["plain,--arch-mlp-bot", "plain,--arch-mlp-top"]),
        ("flexnet search vgg --arch-mlp", []),
        ("flexnet search dlrm --sta", ["plain,--start"]),
        ("flexnet search dlrm --start d", ["plain,data", "plain,dp"]),
        ("flexnet search dlrm --mfile m", ["file,m"]),
        ("flexnet simulate pl", ["file,pl"]),
        ("flexnet dp rn", ["plain,rnnlm"]),
    ],
)
def test_words_are_completed(line: str, found: list[str]) -> None:
    assert offered(line) == found


def test_the_shell_is_told_how() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "flexnet"],
        env={**environment(), "_FLEXNET_COMPLETE": "bash_source"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "complete -o nosort -F _flexnet_completion flexnet" in done.stdout
