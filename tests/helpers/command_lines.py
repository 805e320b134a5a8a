"""Runs command lines in tests: in this process, or in one of their own."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import orjson

ROOT = Path(__file__).resolve().parents[2]

# A search small enough for tests: four operators on four servers; it goes on until it gains nothing.
SEARCH = ("search", "dlrm", "--topology", "topoopt", "--nsimnode", "4", "--batch-size", "64")


def search_words(*flags: str) -> list[str]:
    """The small search with more flags, of a single proposal if none limits it; those it has itself are replaced."""
    names = [flag.partition("=")[0] for flag in flags]
    anew = {{"-b": "--batch-size", "--budget": "--search-budget"}.get(name, name) for name in names}
    limit = () if "--time" in anew else ("--search-budget", "0")
    words = (*SEARCH[2:], *limit)
    own = [pair for pair in zip(words[::2], words[1::2], strict=True) if pair[0] not in anew]
    return [*SEARCH[:2], *(word for pair in own for word in pair), *flags]


def environment() -> dict[str, str]:
    """Where a process of its own finds flexnet, installed or not."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def flexnet(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "flexnet", *arguments],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def flexnet_interrupted(*arguments: str, cwd: Path, after: str) -> tuple[int, str, str]:
    """Run a command line and send it SIGINT once it has printed a line starting with ``after``."""
    with subprocess.Popen(
        [sys.executable, "-m", "flexnet", *arguments],
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        seen = []
        for line in process.stdout:
            seen.append(line)
            if line.startswith(after):
                break
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=600)
    return process.returncode, "".join(seen) + rest, errors


def run_json(directory: Path) -> dict[str, object]:
    """What a run wrote about itself."""
    document = orjson.loads((directory / "run.json").read_bytes())
    assert isinstance(document, dict)
    return document


def errors_of(captured: str) -> list[str]:
    """Lines of standard error that are not warnings."""
    return [line for line in captured.splitlines() if line.strip() and not line.startswith("flexnet: warning: ")]
