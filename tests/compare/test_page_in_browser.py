"""The page of a comparison in a browser: complete, no wider than the window, readable to everyone."""

import pytest
from browser import check_page, chromium

from flexnet.__main__ import main

WORDS = ("alexnet", "--batch-size", "64", "--nsimnode", "4", "--node-degree", "2", "--search-budget", "2")


@pytest.mark.compiled
def test_it_is_whole_fits_and_passes_axe(tmp_path) -> None:
    topologies = "topoopt,random,fc,fattree,leafspine"
    assert main(["compare", *WORDS, "--topology", topologies, "--draws", "2", "-o", str(tmp_path)]) == 0
    with chromium() as browser:
        check_page(browser, tmp_path / "report.html", ["table", "times", "money", "components", "again"])
