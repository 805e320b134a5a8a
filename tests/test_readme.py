"""The README is true: its commands run and print what it shows, its names exist.

``python tests/test_readme.py`` writes what the commands print into the README.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import fields
from pathlib import Path

import pytest
from commands import ROOT, environment

from flexnet.__main__ import main
from flexnet._legacy import PROGRAMS
from flexnet.flags import DP, NO_EFFECT, PROFILE, SEARCH, SIMULATE, VALIDATE
from flexnet.models import MODELS
from flexnet.semantics import Semantics

README = ROOT / "README.md"
FENCE = re.compile(r"^```(?P<tag>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
SET_UP = re.compile(r"^(making a virtual environment in .*|installing flexnet and what it needs)\n", re.MULTILINE)
TIMES = re.compile(r"\d+ h \d+ min|\d+ min \d+ s|\d+\.\d s\b|\d+ proposals/s")
TEST_COMMAND = "bash tests/run\n"


def workspace(directory: Path) -> Path:
    """What the commands need of a clone, with an environment that is this one under the name ``.venv``."""
    for name in ("examples", "measurements"):
        shutil.copytree(ROOT / name, directory / name)
    programs = directory / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "activate").touch()
    for name, command in (("python", ""), ("flexnet", "-m flexnet")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {command} "$@"\n')
        (programs / name).chmod(0o755)
    return directory


def blocks() -> list[tuple[str, str, re.Match[str] | None]]:
    """Every command or program, with the block of its output if the README shows it."""
    found = list(FENCE.finditer(README.read_text()))
    text = README.read_text()
    pairs = []
    for block, after in zip(found, [*found[1:], None], strict=True):
        if block["tag"] == "text":
            continue
        shown = None
        if after is not None and after["tag"] == "text":
            between = text[block.end() : after.start()]
            shown = after if not between.strip() or between.rstrip().endswith("It prints:") else None
        pairs.append((block["tag"], block["body"], shown))
    return pairs


def output(tag: str, body: str, directory: Path) -> str:
    """What a block prints, on both streams."""
    env = {name: value for name, value in environment().items() if name != "FLEXNET_VENV"}
    env["PATH"] = os.pathsep.join([str(directory / ".venv" / "bin"), env["PATH"]])
    command = {"sh": ["bash", "-euc", body], "python": [sys.executable, "-c", body]}[tag]
    done = subprocess.run(
        command, cwd=directory, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def same(text: str) -> str:
    """Output without what differs from machine to machine."""
    return TIMES.sub("TIME", SET_UP.sub("", text))


@pytest.mark.compiled
def test_every_command_prints_what_the_readme_shows(tmp_path: Path) -> None:
    directory = workspace(tmp_path)
    for tag, body, shown in blocks():
        if body == TEST_COMMAND:
            continue
        printed = output(tag, body, directory)
        if shown is not None:
            assert same(printed) == same(shown["body"]), body
    for name in ("run.json", "strategy.json", "taskgraph.fbuf", "checkpoint.json"):
        assert (directory / "runs" / "dlrm16" / name).is_file()


def test_the_second_command_is_what_continuous_integration_runs() -> None:
    assert ("sh", TEST_COMMAND, None) in blocks()
    assert TEST_COMMAND.strip() in (ROOT / ".ci" / "run").read_text().splitlines()
    assert (ROOT / "tests" / "run").is_file()


@pytest.mark.compiled
def test_published_numbers_are_those_the_readme_tells(shared_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--data", str(shared_data)]) == 0
    lines = capsys.readouterr().out.splitlines()
    told = (
        "Of six task graphs published with TopoOpt, six",
        "Of 24 costs recorded from runs of the released program, all 24",
    )
    assert all(sentence in README.read_text() for sentence in told)
    assert sum(line.startswith("taskgraphs/") and "identical" in line for line in lines) == 6
    assert sum(line.startswith("costs/") and line.endswith("ok") for line in lines) == 24


@pytest.mark.parametrize(
    "document", ["README.md", "CHANGELOG.md", "examples/README.md", "benchmarks/README.md", "measurements/README.md"]
)
def test_links_and_files_exist(document: str) -> None:
    path = ROOT / document
    text = FENCE.sub("", path.read_text())
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (path.parent / target).exists(), target
    for name in re.findall(r"`((?:examples|flexnet|measurements|benchmarks|tests|schemas)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name


def test_flags_and_programs_exist() -> None:
    text = README.read_text()
    known = {name for option in (*SEARCH, *PROFILE, *SIMULATE, *DP, *VALIDATE) for name in option.names}
    known |= {name for spec in MODELS.values() for flag in spec.flags for name in (flag.name, *flag.aliases)}
    known |= {*NO_EFFECT, "--measure"}
    assert set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text)) - known == {"--node-degre"}  # the one shown as wrong
    assert [flag for flag in NO_EFFECT if f"`{flag}`" not in text] == []
    assert [name for name in (*PROGRAMS, *MODELS) if f"`{name}`" not in text and f"flexnet {name}" not in text] == []


def test_every_choice_of_semantics_is_told() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\|.*\|$", README.read_text(), re.MULTILINE)
    assert rows == [field.name for field in fields(Semantics)[1:]]


def rewrite(directory: Path) -> None:
    """Put what the commands print into the README."""
    text = README.read_text()
    printed = [(output(tag, body, directory), shown) for tag, body, shown in blocks() if body != TEST_COMMAND]
    for new, shown in reversed(printed):  # from the end, so that places before stay what they are
        if shown is not None and same(new) != same(shown["body"]):
            text = text[: shown.start("body")] + new + text[shown.end("body") :]
    README.write_text(text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        rewrite(workspace(Path(temporary)))
