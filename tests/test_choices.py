"""What is written down in several places, for speed, says the same everywhere."""

import pytest

import flexnet
from flexnet.choices import NETWORKS, STARTS, TOPOLOGIES
from flexnet.config import DEVICE_NAMES, DTYPE_NAMES, GPU_NAMES
from flexnet.export._taskgraph_fb import SimTaskType
from flexnet.flags import PROFILE, SEARCH, SIMULATE, Option
from flexnet.kernels import task_kinds
from flexnet.replay_config import TOPOLOGY_NAMES
from flexnet.semantics import PRESETS


def test_kinds_of_tasks_are_those_of_the_files() -> None:
    for name in task_kinds.__all__:
        assert getattr(task_kinds, name) == getattr(SimTaskType, name)


@pytest.mark.parametrize(
    ("options", "flag", "names"),
    [
        (SEARCH, "--topology", TOPOLOGIES),
        (SEARCH, "--start", STARTS),
        (SEARCH, "--network", NETWORKS),
        (SEARCH, "--semantics", tuple(PRESETS)),
        (SEARCH, "--gpu", GPU_NAMES),
        (PROFILE, "--gpu", GPU_NAMES),
        (PROFILE, "--device", DEVICE_NAMES),
        (PROFILE, "--dtype", DTYPE_NAMES),
        (SIMULATE, "--topology", TOPOLOGY_NAMES),
    ],
)
def test_help_names_every_choice(options: tuple[Option, ...], flag: str, names: tuple[str, ...]) -> None:
    (option,) = (option for option in options if flag in option.names)
    words = option.help.replace(",", " ").replace(":", " ").replace(";", " ").split()
    assert [name for name in names if name not in words] == []


def test_public_names_are_listed_where_they_are_found() -> None:
    assert sorted(name for names in flexnet._HOMES.values() for name in names) == sorted(flexnet.__all__)
    assert all(getattr(flexnet, name) is not None for name in flexnet.__all__)


def test_devices_know_every_arithmetic() -> None:
    pytest.importorskip("torch")
    from flexnet.profiler.device import DTYPES

    assert tuple(DTYPES) == DTYPE_NAMES
