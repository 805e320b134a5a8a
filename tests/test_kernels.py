"""Machine code that is kept from run to run."""

import inspect
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from command_lines import environment
from numba import njit, types
from numba.core.dispatcher import Dispatcher
from random_models import problem_of, tower

from flexnet import Cluster, Settings, find_plan, kernels
from flexnet.plan.semantics import PRESETS
from flexnet.structs import Struct

KERNEL = "from kept.kernels import kernel\n{}\n\n@kernel\ndef {}(x):\n    return {}\n"


@pytest.mark.compiled
def test_a_kernel_is_compiled_anew_when_one_it_calls_in_another_file_changes(tmp_path):
    package = tmp_path / "kept"
    for room in (package, package / "above", package / "below"):
        room.mkdir()
        (room / "__init__.py").touch()
    shutil.copy(kernels.__file__, package / "kernels.py")
    caller = KERNEL.format("from kept.below.kernels import callee", "caller", "10 * callee(x)")
    (package / "above" / "kernels.py").write_text(caller)
    # A directory given for the cache would be used in place of __pycache__.
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    command = [
        sys.executable,
        "-c",
        "from kept.above.kernels import caller; print(caller(1), len(caller.stats.cache_hits))",
    ]

    def run(step):
        """What the caller returns, and whether its machine code was there."""
        (package / "below" / "kernels.py").write_text(KERNEL.format("", "callee", f"x + {step}"))
        process = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600, check=True
        )
        return tuple(map(int, process.stdout.split()))

    assert run(1) == (20, 0)
    assert run(1) == (20, 1)
    assert run(100) == (1010, 0)


@pytest.mark.compiled
def test_of_two_processes_one_compiles_and_the_other_waits(tmp_path):
    package = tmp_path / "kept"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(kernels.__file__, package / "kernels.py")
    (package / "only.py").write_text(KERNEL.format("", "only", "x + 1"))
    code = (
        "from kept.kernels import is_kept; from kept.only import only; before = is_kept(only);"
        "print('ready', flush=True); input(); only(1); print(before, is_kept(only), len(only.stats.cache_hits))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    assert sorted(process.communicate(timeout=600)[0] for process in processes) == [
        "False True 0\n",
        "False True 1\n",
    ]


@kernels.called
def twice(x):
    return 2 * x


@kernels.inlined
def more(x):
    return x + 1


@kernels.kernel
def twice_and_more(x):
    return more(twice(x))


def test_what_kernels_call_python_may_call_too():
    assert (twice(3), more(3), twice_and_more(3)) == (6, 4, 7)


@kernels.called
def after(x, step):
    return x + step


@njit(**kernels.OPTIONS)  # which is not kept, so that it is compiled here
def four_after(xs, step):
    return after(xs[0], 1) + after(xs[0], 2) + after(int(xs[0]), step) + after(-1, step)


@pytest.mark.compiled
def test_what_kernels_call_is_compiled_once_for_all_widths_of_integers():
    widest = 2**32 - 1
    assert four_after(np.array([widest], np.uint32), np.int32(-3)) == 3 * widest - 4
    assert four_after(np.array([-7], np.int8), 5) == -9
    assert [str(signature) for signature in after.by_kernels.signatures] == ["(int64, int64)"]


def test_references_are_not_counted():
    """This numba still has the option without which replays are several times slower."""
    assert kernels.OPTIONS["_nrt"] is False


def struct_types(numba_type):
    """Python classes of the structs in a signature's types."""
    if isinstance(numba_type, Struct):
        yield numba_type.of
    elif isinstance(numba_type, types.NamedTuple | types.NamedUniTuple):
        yield numba_type.instance_class
    for inner in numba_type.members.values() if isinstance(numba_type, Struct) else getattr(numba_type, "types", ()):
        yield from struct_types(inner)


@pytest.mark.compiled
def test_all_that_kernels_take_is_in_their_digest():
    """Or machine code kept for a struct that has changed or moved would be taken, or fail to load."""
    cluster = Cluster(4, link_bandwidth=2e6, degree=2)
    for semantics in PRESETS.values():
        problem = problem_of(tower(), cluster, semantics)
        for topology in ("topoopt", "fattree"):
            find_plan(problem, Settings(topology, budget=2))
    taken, sources = set(), {str(path) for path in kernels.SOURCES}
    modules = [module for name, module in sys.modules.items() if name.startswith("flexnet.")]
    for kernel in {item for module in modules for item in vars(module).values() if isinstance(item, Dispatcher)}:
        for signature in kernel.signatures:
            taken |= {struct for argument in signature for struct in struct_types(argument)}
    assert {"ProblemArrays", "Strategy", "NetworkArrays", "FairWork", "FifoWork"} <= {
        struct.__name__ for struct in taken
    }
    assert {struct.__name__ for struct in taken if inspect.getsourcefile(struct) not in sources} == set()


@pytest.mark.compiled
@pytest.mark.parametrize(("given", "level"), [(None, 1), ("2", 2)])
def test_the_command_has_kernels_compiled_at_a_level_that_users_may_choose(given, level):
    told = {name: value for name, value in environment().items() if name != "NUMBA_OPT"}
    code = "from flexnet.__main__ import main; main(['models']); from numba import config; print(int(config.OPT))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=told | ({} if given is None else {"NUMBA_OPT": given}),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert int(done.stdout.split()[-1]) == level
