"""The live line: best, gap, sparkline, and what is being tried; plain lines elsewhere."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import environment, search_words

from flexnet.commands.console.progress import SPARKS, Trend, sparkline


def test_a_sparkline_shows_the_newest_value_of_every_moment() -> None:
    points = [(0.0, 8.0), (1.0, 4.0), (10.0, 1.0)]
    assert sparkline(points, 11) == SPARKS[7] + SPARKS[3] * 9 + SPARKS[0]
    assert sparkline([(0.0, 3.0)], 4) == SPARKS[0] * 4


def test_the_line_says_most_first() -> None:
    text = Trend("recut", 0.1, [(0.0, 0.3), (1.0, 0.2)]).text(0.25, 0.2, 99.6, 3.0)
    assert re.fullmatch(
        r"best 200\.000 ms \(2\.00x the bound\) \S{12} recut +current 250\.000, 100/s, 3\.0 s left", text
    )
    assert "bound" not in Trend("recut", None, [(0.0, 0.3)]).text(0.25, 0.2, 99.6, float("inf"))


@pytest.mark.compiled
def test_a_terminal_is_told_the_gap(tmp_path: Path) -> None:
    above, below = pty.openpty()
    words = [sys.executable, "-m", "flexnet", *search_words("--time", "4")]
    env = {**environment(), "COLUMNS": "140", "TERM": "xterm"}
    with subprocess.Popen(words, cwd=tmp_path, env=env, stdout=below, stderr=subprocess.DEVNULL) as process:
        os.close(below)
        seen = b""
        while True:
            try:
                part = os.read(above, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            seen += part
        assert process.wait(timeout=60) == 0
    os.close(above)
    text = seen.decode()
    assert re.search(r"best \d+\.\d+ ms \(\d+\.\d\dx the bound\) [▁▂▃▄▅▆▇█]{12} \w+", text)
    assert "bound      no plan takes less than" in text
