"""The live line, the plain lines, and output nobody reads."""

import errno
import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import SEARCH, environment, errors_of, run_json, search_words

from flexnet.__main__ import main
from flexnet.commands.console.progress import Display
from flexnet.commands.console.signals import interruptible, raising
from flexnet.search.driver import Progress


def at(iteration: int, total: float, elapsed: float, limit: float = float("inf")) -> Progress:
    return Progress(iteration, total, 0.1, 0.1, True, 0.1, elapsed, limit)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr("flexnet.commands.console.progress.REFRESH_S", 0.0)
    monkeypatch.setenv("COLUMNS", "60")
    display = Display(1000)
    display.show(1, 0.1234, 0.1, at(1, 1000, 5e-4))
    display.show(1000, 0.1, 0.1, at(1000, 1000, 0.5))
    display.clear()
    display.clear()  # there is nothing left to remove
    frames = terminal.getvalue().split("\r")
    shown = [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", frame).rstrip("\n") for frame in frames]
    assert all(len(line) <= 60 and "\n" not in line for line in shown)
    assert any(re.match(r" +1/1000 \S+ +current 123\.400 ms, best", line) for line in shown)
    assert any(line.startswith("1000/1000") for line in shown)
    assert frames[0].startswith("\x1b[?25l") and "\x1b[?25h" in frames[-2]  # the cursor is hidden, and back again
    assert frames[-1].endswith("\x1b[2K") and shown[-1] == ""  # the line is gone


def test_a_file_has_ten_lines(capsys: pytest.CaptureFixture[str]) -> None:
    display = Display(200, done=100)
    for i in range(101, 201):
        display.show(i, 0.001, 0.001, at(i - 100, 100, (i - 100) / 10))
    display.clear()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["120", "140", "160", "180", "200"]
    assert lines[0] == "120 of 200: current 1.000 ms, best 1.000 ms, 10 proposals/s, 8.0 s left"


def test_a_file_has_a_line_at_least_every_minute(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    minutes = iter(range(100))
    monkeypatch.setattr("flexnet.commands.console.progress.time.monotonic", lambda: 40.0 * next(minutes))
    display = Display(1000)
    for i in range(1, 9):
        display.show_step(i, "measured", 0.0)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["2", "4", "6", "8"]


def test_a_file_has_ten_lines_of_a_search_in_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    """A line for every tenth of the time, or of the proposals where those are over first."""
    display = Display(None)
    for i in range(1, 501):
        display.show(i, 0.001, 0.001, at(i, float("inf"), i / 100, limit=5.0))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [f"{n}:" for n in range(50, 501, 50)]
    assert lines[0] == "50: current 1.000 ms, best 1.000 ms, 100 proposals/s, 4.5 s left"


def test_a_search_without_end_has_a_line_whenever_proposals_have_doubled(capsys: pytest.CaptureFixture[str]) -> None:
    display = Display(None)
    for i in range(1, 101):
        display.show(i, 0.001, 0.001, at(i, float("inf"), i / 100))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["1:", "2:", "4:", "8:", "16:", "32:", "64:"]
    assert lines[-1] == "64: current 1.000 ms, best 1.000 ms, 100 proposals/s"


@pytest.mark.parametrize("heard", [interruptible, raising])
def test_what_whoever_starts_us_wants_ignored_stays_ignored(heard) -> None:
    """As nohup does SIGHUP."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with heard() as stopped:
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert not stopped()
    finally:
        signal.signal(signal.SIGHUP, before)


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


class FullOnce(io.TextIOWrapper):
    """Standard output that works for some lines, and then once does not."""

    def __init__(self, path: Path, lines: int) -> None:
        super().__init__(path.open("wb"), write_through=True)
        self.lines = lines

    def write(self, text: str) -> int:
        self.lines -= 1
        if self.lines == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)


@pytest.mark.compiled
@pytest.mark.parametrize("lines", [5, 14, 16])
def test_a_full_disk_does_not_end_a_search_under_way(
    lines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with FullOnce(tmp_path / "printed", lines) as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert main([*SEARCH, "--budget", "99", "-o", str(tmp_path / "run")]) == 2
    (error,) = errors_of(capsys.readouterr().err)
    assert error == "flexnet: error: cannot print to standard output: No space left on device"
    assert run_json(tmp_path / "run")["status"] == "finished"
    assert (tmp_path / "run" / "taskgraph.fbuf").is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", [["models"], ["--help"], ["dp", "alexnet"], search_words()])
def test_output_that_cannot_be_printed_is_an_error(command: list[str], tmp_path: Path) -> None:
    done = shell(f"{{}} {' '.join(command)} > /dev/full", tmp_path)
    assert done.returncode == 2
    assert errors_of(done.stderr) == ["flexnet: error: cannot print to standard output: No space left on device"]


def test_streams_may_be_closed_or_full(tmp_path: Path) -> None:
    search = " ".join([*SEARCH, "--budget", "9"])
    done = shell(f"{{}} {search} -o run >&-", tmp_path)
    assert (done.returncode, errors_of(done.stderr)) == (0, [])
    assert run_json(tmp_path / "run")["status"] == "finished"
    assert shell(f"{{}} {search} -o both >&- 2>&-", tmp_path).returncode == 0
    assert run_json(tmp_path / "both")["status"] == "finished"
    if Path("/dev/full").exists():
        assert shell("{} nonsense 2>/dev/full", tmp_path).returncode == 2
        done = shell(f"{{}} {search} 2>/dev/full", tmp_path)
        assert done.returncode == 0 and done.stdout.splitlines()[-1].startswith("best ")


def test_the_head_of_a_list(tmp_path: Path) -> None:
    done = shell("set -o pipefail; {} models | head -n 1", tmp_path)
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", 1)


def shell(command: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which {} is flexnet."""
    return subprocess.run(
        ["bash", "-c", command.format(f"{sys.executable} -m flexnet")],
        cwd=directory,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
