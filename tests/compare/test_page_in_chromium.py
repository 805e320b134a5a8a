"""The page of a comparison in a browser: complete, no wider than the window, readable to everyone."""

import shutil

import pytest

from flexnet.__main__ import main

WORDS = ("alexnet", "--batch-size", "64", "--nsimnode", "4", "--node-degree", "2", "--search-budget", "2")
SECTIONS = ["table", "times", "money", "components", "again"]


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    directory = tmp_path_factory.mktemp("comparison")
    topologies = "topoopt,random,fc,fattree,leafspine"
    assert main(["compare", *WORDS, "--topology", topologies, "--draws", "2", "-o", str(directory)]) == 0
    return directory / "report.html"


@pytest.mark.compiled
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (400, "light")])
def test_it_is_whole_fits_and_passes_axe(browser, report, width, scheme) -> None:
    axe = pytest.importorskip("axe_core_python.sync_playwright", reason="axe-core-python is not installed").Axe()
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    problems, fetched = [], []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: fetched.append(request.url))
    page.goto(report.as_uri())
    assert (problems, fetched) == ([], [report.as_uri()])
    assert page.locator("main section").evaluate_all("all => all.map(one => one.id)") == SECTIONS
    assert page.locator("#table tbody tr").count() == 5
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    violations = axe.run(page)["violations"]
    assert [one["id"] for one in violations] == []
    page.close()
