"""nvidia-smi, played by a script."""

import pytest

from flexnet.profiler.nvidia_smi import NvidiaSmi

SCRIPT = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/asked"
case "$1" in
    *=driver_version) echo 550.54 ;;
    *clocks_event_reasons*) [ NEW = 1 ] || exit 6 ;;
esac
case "$1" in
    *clocks.sm*) sleep 0.2; echo '1980, 2619, 61, 690.31, 0x0000000000000004' ;;
    *reasons*) echo '0x0000000000000000' ;;
esac
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    def write(text):
        path = tmp_path / "nvidia-smi"
        path.write_text(text)
        path.chmod(0o755)
        return tmp_path / "asked"

    return write


@pytest.mark.parametrize(("new", "name"), [("1", "clocks_event_reasons"), ("0", "clocks_throttle_reasons")])
def test_clocks_are_asked_for_while_the_gpu_is_busy(program, new, name):
    asked = program(SCRIPT.replace("NEW", new))
    smi = NvidiaSmi("12-34")
    assert smi.driver == "550.54"
    passes = []
    assert smi.clocks(lambda: passes.append(1)) == {
        "sm_mhz": 1980.0,
        "memory_mhz": 2619.0,
        "celsius": 61.0,
        "watts": 690.31,
        "throttled": ["power cap"],
    }
    assert len(passes) > 1
    last = asked.read_text().splitlines()[-1]
    assert f"{name}.active --format=csv,noheader,nounits --id=GPU-12-34" in last


@pytest.mark.parametrize("text", ["#!/bin/sh\nexit 9\n", "#!/bin/sh\necho 'No devices were found'\nexit 6\n"])
def test_one_that_refuses_tells_nothing(program, text):
    program(text)
    smi = NvidiaSmi(None)
    assert smi.driver is None
    assert smi.clocks(lambda: None) is None


def test_there_may_be_none(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    smi = NvidiaSmi(None)
    assert smi.driver is None
    assert smi.clocks(lambda: None) is None


def test_it_ends_when_the_pass_fails(program):
    program(SCRIPT.replace("NEW", "1"))
    smi = NvidiaSmi(None)

    def fail():
        raise RuntimeError("CUDA error")

    with pytest.raises(RuntimeError, match="CUDA error"):
        smi.clocks(fail)
