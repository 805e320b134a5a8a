"""Fixtures every test may use."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

SHARED_DATA = Path(os.environ.get("FLEXNET_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


# Timing tells nothing here: the first example of a test may load or compile kernels.
settings.register_profile("flexnet", deadline=None)
settings.load_profile("flexnet")

# Rooms whose own code is no kernel's: their tests, and those in folders of theirs, run once, compiled.
WITHOUT_KERNELS = {"commands", "compare", "importing", "model", "plot", "prices", "profiler", "report", "sweep"}
TESTS = Path(__file__).parent


# Files with tests of a minute and more: begun first, so that no process is left with one in the end.
LONG = ("test_readme", "test_examples", "test_validate", "test_twins")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what tells nothing more where kernels run as plain Python; begin with what takes long."""
    for item in items:
        if item.path.is_relative_to(TESTS) and item.path.relative_to(TESTS).parts[0] in WITHOUT_KERNELS:
            item.add_marker("compiled")
    items.sort(key=lambda item: item.path.stem not in LONG)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The published measurements, task graphs and costs; tests that need them skip where they are absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the published data is not on this machine; FLEXNET_DATA names its directory")
    return SHARED_DATA


@pytest.fixture(autouse=True)
def _little_without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Follow few packets and look at few networks where kernels run as plain Python, a thousand times slower."""
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        monkeypatch.setattr("flexnet.simulate.priced_links.MOST_HOPS", 5_000)
        monkeypatch.setattr("flexnet.search.rebuild.MOST_LOOKED_AT", 8)
