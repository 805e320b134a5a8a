"""What is written down in several places says the same everywhere."""

from collections.abc import Iterable

import click
import pytest

from flexnet.commands.cli import COMMANDS
from flexnet.commands.requests.flags import Flag
from flexnet.commands.requests.profile import DEVICES, PROFILE_FLAGS
from flexnet.commands.requests.search_flags import SEARCH_FLAGS, parse_search
from flexnet.commands.simulate import simulate
from flexnet.cost.gpus import GPUS
from flexnet.model.precision import PRECISIONS
from flexnet.network.topologies import TOPOLOGIES
from flexnet.plan import task_kinds
from flexnet.plan.semantics import PRESETS
from flexnet.search.settings import NETWORKS
from flexnet.search.starts import STARTS
from flexnet.simulate import LINK_MODELS
from flexnet.taskgraph_file._taskgraph_fb import SimTaskType


def test_kinds_of_tasks_are_those_of_the_files() -> None:
    for name in task_kinds.__all__:
        assert getattr(task_kinds, name) == getattr(SimTaskType, name)


@pytest.mark.parametrize(
    ("flags", "spelling", "names"),
    [
        (SEARCH_FLAGS, "--topology", TOPOLOGIES),
        (SEARCH_FLAGS, "--start", STARTS),
        (SEARCH_FLAGS, "--network", NETWORKS),
        (SEARCH_FLAGS, "--semantics", PRESETS),
        (SEARCH_FLAGS, "--gpu", GPUS),
        (SEARCH_FLAGS, "--dtype", PRECISIONS),
        (PROFILE_FLAGS, "--gpu", GPUS),
        (PROFILE_FLAGS, "--device", DEVICES),
        (PROFILE_FLAGS, "--dtype", PRECISIONS),
        (simulate.params, "--topology", ("file", *TOPOLOGIES)),
        (simulate.params, "--network", LINK_MODELS),
    ],
)
def test_help_names_every_choice(flags: Iterable[click.Parameter], spelling: str, names: Iterable[str]) -> None:
    (flag,) = (flag for flag in flags if spelling in flag.opts)
    assert isinstance(flag, Flag)
    record = flag.get_help_record(click.Context(click.Command("any")))
    assert record is not None
    words = record[1].replace(",", " ").replace(":", " ").replace(";", " ").split()
    assert [name for name in names if name not in words] == []
    assert [name for name in names if name not in flag.type.names] == []  # type: ignore[attr-defined]


def test_every_command_is_where_it_is_looked_for() -> None:
    from importlib import import_module
    from keyword import iskeyword

    for name in COMMANDS:
        page = f"{name}_" if iskeyword(name) else name
        command = getattr(import_module(f"flexnet.commands.{page}"), page)
        assert isinstance(command, click.Command)
        assert command.name == name


def test_devices_know_every_arithmetic() -> None:
    pytest.importorskip("torch")
    from flexnet.profiler.device import DTYPES as KNOWN

    assert {*KNOWN, "fp8"} == set(PRECISIONS)


def test_flags_are_kept_in_the_order_they_were_typed() -> None:
    words = "--seed 3 --arch-mlp-top 4-2 dlrm --embedding-bag-size 9 --topology fc --arch-mlp-bot 8-4 --batch-size 8"
    asked = parse_search(words.split())
    assert list(asked.given) == ["--seed", "--topology", "--batch-size"]
    assert list(asked.model_given) == ["--arch-mlp-top", "--embedding-bag-size", "--arch-mlp-bot"]
