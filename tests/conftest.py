"""Fixtures every test may use."""

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The published measurements, task graphs and costs; tests that need them skip where they are absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the published data (shared/data) is not on this machine")
    return SHARED_DATA
