"""Machine code that is kept from run to run."""

import os
import shutil
import subprocess
import sys

import pytest

from flexnet.kernels import jit

KERNEL = "from kept.jit import kernel\n{}\n\n@kernel\ndef {}(x):\n    return {}\n"


@pytest.mark.compiled
def test_a_kernel_is_compiled_anew_when_one_it_calls_in_another_file_changes(tmp_path):
    package = tmp_path / "kept"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(jit.__file__, package / "jit.py")
    (package / "caller.py").write_text(KERNEL.format("from kept.callee import callee", "caller", "10 * callee(x)"))
    # A directory given for the cache would be used in place of __pycache__.
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    command = [sys.executable, "-c", "from kept.caller import caller; print(caller(1), len(caller.stats.cache_hits))"]

    def run(step):
        """What the caller returns, and whether its machine code was there."""
        (package / "callee.py").write_text(KERNEL.format("", "callee", f"x + {step}"))
        process = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=True
        )
        return tuple(map(int, process.stdout.split()))

    assert run(1) == (20, 0)
    assert run(1) == (20, 1)
    assert run(100) == (1010, 0)


def test_references_are_not_counted():
    """This numba still has the option without which replays are several times slower."""
    assert jit.OPTIONS["_nrt"] is False
