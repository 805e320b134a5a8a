"""The timeline in a viewer that others wrote, in a browser."""

import os
from pathlib import Path

import pytest
from browser import chromium
from chrome_trace import check_trace, read_trace

from flexnet.__main__ import main

VIEWER = Path(os.environ.get("FLEXNET_SPEEDSCOPE", "none")) / "index.html"


@pytest.mark.compiled
@pytest.mark.skipif(not VIEWER.is_file(), reason="FLEXNET_SPEEDSCOPE is not where npm has put speedscope/dist/release")
def test_speedscope_shows_every_track(run_directory: Path, tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    assert main(["trace", str(run_directory), "-o", str(path)]) == 0
    tracks = [slices for slices in check_trace(read_trace(path)).values() if slices]
    wrong: list[str] = []
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.goto(VIEWER.as_uri())
        page.locator("input[type=file]").first.set_input_files(path)
        page.get_by_text(f"(1/{len(tracks)})").wait_for(timeout=20_000)
        assert page.title().startswith("trace.json.gz")
        assert "iteration" in page.evaluate("document.body.innerText")
    assert wrong == []
