"""Notebooks kept as scripts: they run, print what the file beside them holds, and are cells for jupytext."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import ROOT, environment

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.py"))


@pytest.mark.compiled
@pytest.mark.parametrize("script", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(script: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-W", "error", str(script)]
    done = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == script.with_suffix(".out").read_text()
    (figure,) = tmp_path.iterdir()
    assert figure.read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize("script", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_cells_are_marked(script: Path) -> None:
    text = script.read_text()
    head, *cells = re.split(r"^# %%", text, flags=re.MULTILINE)
    assert "format_name: percent" in head and all(line.startswith("#") for line in head.splitlines() if line)
    kinds = ["text" if cell.startswith(" [markdown]") else "code" for cell in cells]
    assert {"text", "code"} == set(kinds)
    for cell, kind in zip(cells, kinds, strict=True):
        lines = [line for line in cell.splitlines()[1:] if line]
        assert lines and (kind == "code") != all(line.startswith("#") for line in lines)
