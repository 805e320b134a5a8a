"""What a shell offers after Tab."""

import os
import subprocess
import sys
from pathlib import Path

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
        ("flexnet search dlrm --topology f", ["file,f", "plain,fattree", "plain,fc"]),
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


@pytest.mark.parametrize(
    ("words", "found"),
    [("search dlrm --topology t", "topoopt"), ("search dlrm --topology f", "fattree fc"), ("dp rn", "rnnlm")],
)
def test_bash_offers_them(words: str, found: str, tmp_path: Path) -> None:
    (tmp_path / "flexnet").write_text(f'#!/bin/sh\nexec {sys.executable} -m flexnet "$@"\n')
    (tmp_path / "flexnet").chmod(0o755)
    n = len(words.split())
    script = (
        'eval "$(_FLEXNET_COMPLETE=bash_source flexnet)" || exit; '
        f"COMP_WORDS=(flexnet {words}); COMP_CWORD={n}; compopt() {{ :; }}; "
        '_flexnet_completion flexnet; echo "${COMPREPLY[@]}"'
    )
    settings = {**environment(), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=settings, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == found


def test_the_shell_is_told_how() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "flexnet"],
        env={**environment(), "_FLEXNET_COMPLETE": "bash_source"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "complete -o nosort -F _flexnet_completion flexnet" in done.stdout
