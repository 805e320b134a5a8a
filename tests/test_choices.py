"""What is written down in several places, for speed, says the same everywhere."""

import pytest

from flexnet import taskgraph
from flexnet.choices import NETWORKS, STARTS, TOPOLOGIES
from flexnet.config import DEVICE_NAMES, DTYPE_NAMES, GPU_NAMES
from flexnet.export._taskgraph_fb import SimTaskType
from flexnet.flags import PROFILE, SEARCH, SIMULATE, Option
from flexnet.kernels import build, fair, fifo
from flexnet.replay_config import TOPOLOGY_NAMES
from flexnet.semantics import PRESETS


@pytest.mark.parametrize("kernels", [build, fair, fifo], ids=lambda module: module.__name__)
def test_kernels_know_the_kinds_of_tasks(kernels: object) -> None:
    """A kernel's constants are in its own file: numba does not notice a change in another one."""
    kinds = [name for name in ("FORWARD", "BACKWARD", "NOMINAL_COMM", "ALLREDUCE") if hasattr(kernels, name)]
    assert len(kinds) >= 3
    for name in kinds:
        assert getattr(kernels, name) == getattr(taskgraph, name) == getattr(SimTaskType, name)


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


def test_devices_know_every_arithmetic() -> None:
    pytest.importorskip("torch")
    from flexnet.profiler.devices import DTYPES

    assert tuple(DTYPES) == DTYPE_NAMES
