"""A headless Chromium for tests of pages; they skip with a reason where there is none."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

WIDTHS = (1280, 400)
SCHEMES = ("light", "dark")


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser: Debian's, or the one that Playwright has installed."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with api.sync_playwright() as player:
        try:
            browser = player.chromium.launch(executable_path=found, args=["--no-sandbox"])
        except api.Error as error:
            pytest.skip(f"no Chromium starts here (apt-get install chromium): {str(error).splitlines()[0]}")
        try:
            yield browser
        finally:
            browser.close()


def check_page(browser: Any, path: Path, sections: list[str]) -> None:
    """No message on the console, nothing fetched, every section there, no overflow, and nothing that axe-core finds."""
    axe = pytest.importorskip("axe_core_python.sync_playwright", reason="axe-core-python is not installed").Axe()
    for scheme in SCHEMES:
        for width in WIDTHS:
            context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
            page = context.new_page()
            messages: list[str] = []
            requests: list[str] = []
            page.on("console", lambda message, into=messages: into.append(message.text))
            page.on("pageerror", lambda error, into=messages: into.append(str(error)))
            page.on("request", lambda request, into=requests: into.append(request.url))
            page.goto(path.as_uri())
            assert messages == []
            assert [url for url in requests if not url.startswith("data:")] == [path.as_uri()]
            assert page.eval_on_selector_all("main > section", "found => found.map(one => one.id)") == sections
            heights = page.eval_on_selector_all("main > section", "found => found.map(one => one.offsetHeight)")
            assert min(heights) > 40
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{wide} pixels on a page of {width}"
            found = [(one["id"], one["nodes"][0]["html"]) for one in axe.run(page)["violations"]]
            assert not found, f"{scheme}, {width} pixels: {found}"
            context.close()
