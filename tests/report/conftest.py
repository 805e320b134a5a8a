"""A run that reports and traces are made of."""

from pathlib import Path

import pytest
from command_lines import search_words

from flexnet.__main__ import main


@pytest.fixture(scope="session")
def run_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a small search wrote."""
    directory = tmp_path_factory.mktemp("runs") / "small"
    assert main(search_words("--search-budget", "40", "-o", str(directory))) == 0
    return directory
