"""The live line, the plain lines, and output nobody reads."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from commands import SEARCH, environment

from flexnet.progress import Display


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr("flexnet.progress.REFRESH_S", 0.0)
    monkeypatch.setenv("COLUMNS", "60")
    display = Display(1000)
    display.show(1, 0.1234, 0.1, 2000.0, 4000.0)
    display.show(1000, 0.1, 0.1, 2000.0, 0.0)
    display.clear()
    shown = terminal.getvalue()
    assert "\n" not in shown
    first, second, cleared, after = shown.split("\r")[1:]
    assert first.startswith("1 of 1000: current 123.400 ms, best 100.000 ms, 2000 propos")
    assert second.startswith("1000 of 1000: ")
    assert len(first) == len(second) == 59
    assert (cleared.strip(), after) == ("", "")


def test_a_file_has_ten_lines(capsys: pytest.CaptureFixture[str]) -> None:
    display = Display(200, done=100)
    for i in range(101, 201):
        display.show(i, 0.001, 0.001, 10.0, 75.0)
    display.clear()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["120", "140", "160", "180", "200"]
    assert lines[0] == "120 of 200: current 1.000 ms, best 1.000 ms, 10 proposals/s, 1 min 15 s left"


def test_a_reader_that_goes_away_does_not_end_a_search(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "flexnet", *SEARCH, "--budget", "99", "-o", "."],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode == 0, errors
    assert "BrokenPipe" not in errors
    assert (tmp_path / "taskgraph.fbuf").is_file()
