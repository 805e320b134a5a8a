"""The README and the pages of docs/ are true: their commands run and print what they show, their names exist.

``python tests/test_readme.py`` writes what the commands print into them.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest
from command_lines import ROOT, environment

from flexnet.commands.cli import COMMANDS
from flexnet.commands.requests.original_programs import NO_EFFECT, PROGRAMS
from flexnet.model.zoo import MODELS
from flexnet.plan.semantics import Semantics

README = ROOT / "README.md"
PAGES = [README, *sorted(path for path in (ROOT / "docs").glob("*.md") if path.name != "api.md")]
FENCE = re.compile(r"^```(?P<tag>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
SET_UP = re.compile(r"^(making a virtual environment in .*|installing flexnet and what it needs)\n", re.MULTILINE)
TIMES = re.compile(r"\d+ h \d+ min|\d+ min \d+ s|\d+\.\d s\b|[\d.]+ proposals/s")
BOUND = re.compile(r"^bound .*$", re.MULTILINE)
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


def blocks(page: Path) -> list[tuple[str, str, re.Match[str] | None]]:
    """Every command or program, with the block of its output if the page shows it."""
    text = page.read_text()
    found = list(FENCE.finditer(text))
    pairs = []
    for block, after in zip(found, [*found, None][1:], strict=True):
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
    """Output without what differs from machine to machine.

    So do shares of what a bound rests on: sums are rounded as the processor has them, and many weights are as good.
    """
    alike = BOUND.sub(lambda bound: re.sub(r"\d+ %", "SHARE", bound[0]), text)
    return TIMES.sub("TIME", SET_UP.sub("", alike))


@pytest.mark.compiled
def test_every_command_prints_what_is_shown(tmp_path: Path) -> None:
    directory = workspace(tmp_path)
    for page in PAGES:
        for tag, body, shown in blocks(page):
            if body == TEST_COMMAND:
                continue
            printed = output(tag, body, directory)
            if shown is not None:
                assert same(printed) == same(shown["body"]), f"{page.name}: {body}"
    for name in ("run.json", "strategy.json", "taskgraph.fbuf", "checkpoint.json"):
        assert (directory / "runs" / "vgg16" / name).is_file()


def test_the_second_command_is_what_continuous_integration_runs() -> None:
    assert ("sh", TEST_COMMAND, None) in blocks(README)
    assert TEST_COMMAND.strip() in (ROOT / ".ci" / "run").read_text().splitlines()
    assert (ROOT / "tests" / "run").is_file()


FOLDERS = (".", "docs", "examples", "benchmarks", "measurements", "schemas")
DOCUMENTS = sorted(path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).glob("*.md"))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_and_files_exist(document: str) -> None:
    path = ROOT / document
    text = FENCE.sub("", path.read_text())
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (path.parent / target).exists(), target
    for name in re.findall(r"`((?:examples|flexnet|measurements|benchmarks|tests|schemas)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name


def test_flags_and_programs_exist() -> None:
    text = "".join(page.read_text() for page in PAGES)
    modules = ["import_" if name == "import" else name for name in COMMANDS]
    commands = [getattr(import_module(f"flexnet.commands.{name}"), name) for name in modules]
    known = {name for command in commands for param in command.params for name in param.opts}
    known |= {name for spec in MODELS.values() for flag in spec.flags for name in (flag.name, *flag.aliases)}
    known |= {*NO_EFFECT, "--measure", "--help"}
    assert set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text)) - known == {"--node-degre"}  # the one shown as wrong
    assert [flag for flag in NO_EFFECT if f"`{flag}`" not in text] == []
    assert [name for name in (*PROGRAMS, *MODELS) if f"`{name}`" not in text and f"flexnet {name}" not in text] == []


def test_every_choice_of_semantics_is_told() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\|.*\|$", (ROOT / "docs" / "costs.md").read_text(), re.MULTILINE)
    assert rows == [field.name for field in fields(Semantics)[1:]]


def rewrite(directory: Path) -> None:
    """Put what the commands print into the pages."""
    for page in PAGES:
        text = page.read_text()
        printed = [(output(tag, body, directory), shown) for tag, body, shown in blocks(page) if body != TEST_COMMAND]
        for new, shown in reversed(printed):  # from the end, so that places before stay what they are
            if shown is not None and same(new) != same(shown["body"]):
                text = text[: shown.start("body")] + new + text[shown.end("body") :]
        page.write_text(text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        rewrite(workspace(Path(temporary)))
