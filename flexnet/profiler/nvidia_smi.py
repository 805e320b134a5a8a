"""What nvidia-smi tells of a GPU: its driver, and its clocks under load."""

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["NvidiaSmi"]

_FIELDS = {  # ours to theirs
    "sm_mhz": "clocks.sm",
    "memory_mhz": "clocks.mem",
    "celsius": "temperature.gpu",
    "watts": "power.draw",
}
_HELD_DOWN = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")  # its name since driver 535, and before
_REASONS = {  # nvml.h: nvmlClocksThrottleReasons
    0x2: "application clocks",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
    0x100: "display clocks",
}
_TIMEOUT = 10.0  # seconds


@dataclass(slots=True)
class NvidiaSmi:
    """Asks nvidia-smi, which may be missing or refuse.

    Parameters
    ----------
    uuid : str or None
        Of the GPU, without ``GPU-``; None for the first one.
    driver : str or None
        Version of the driver, None if it does not tell.
    """

    uuid: str | None
    driver: str | None = field(init=False)
    _reasons: str | None = field(init=False)

    def __post_init__(self) -> None:
        answer = self._ask(["driver_version"])
        self.driver = answer[0] if answer else None
        self._reasons = next((name for name in _HELD_DOWN if self.driver and self._ask([name])), None)

    def clocks(self, meanwhile: Callable[[], object]) -> dict[str, object] | None:
        """Clocks, temperature, power and what holds clocks down while ``meanwhile`` is run again and again.

        Idle GPUs have other clocks, and nothing holds them down.  None if nvidia-smi does not tell.
        """
        answer = self._ask([*_FIELDS.values(), *([self._reasons] if self._reasons else [])], meanwhile)
        if answer is None:
            return None
        found: dict[str, object] = {name: _number(text) for name, text in zip(_FIELDS, answer, strict=False)}
        return {**found, "throttled": _throttled(answer[-1]) if self._reasons else None}

    def _ask(self, names: list[str], meanwhile: Callable[[], object] | None = None) -> list[str] | None:
        command = ["nvidia-smi", f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits"]
        if self.uuid is not None:
            command.append(f"--id=GPU-{self.uuid}")
        try:
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
                until = time.monotonic() + _TIMEOUT
                try:
                    while meanwhile is not None and process.poll() is None and time.monotonic() < until:
                        meanwhile()
                    text, _ = process.communicate(timeout=max(until - time.monotonic(), 0.1))
                except BaseException:
                    process.kill()
                    raise
        except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
            return None
        values = [value.strip() for value in text.strip().partition("\n")[0].split(",")]
        return values if process.returncode == 0 and len(values) == len(names) else None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _throttled(text: str) -> list[str] | None:
    """What holds clocks down, from the bit mask nvidia-smi prints; None if it does not tell.

    >>> _throttled("0x0000000000000024"), _throttled("0x0000000000000001"), _throttled("[N/A]")
    (['power cap', 'software thermal slowdown'], [], None)
    """
    try:
        mask = int(text, 16)
    except ValueError:
        return None
    return [reason for bit, reason in _REASONS.items() if mask & bit]
