"""Reads the values of flags, or says in one sentence what they must be."""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from flexnet.errors import FlexNetError
from flexnet.flags import Given
from flexnet.units import gbps_to_bytes_per_s, us_to_s
from flexnet.wording import did_you_mean, one_of

__all__ = ["INTEGER", "FlagReader"]

INTEGER = re.compile(r"[+-]?[0-9]{1,30}", re.ASCII)
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_SMALLEST_SEGMENT = 1000  # bytes
_LARGEST_SEGMENT = 2**40


@dataclass(frozen=True, slots=True)
class FlagReader:
    """Reads values of flags, or says what they must be."""

    given: Given

    def integer(self, flag: str, default: int, *, least: int, most: int) -> int:
        """A whole number, or ``default`` if the flag is not given."""
        text = self.given.get(flag)
        if text is None:
            return default
        value = int(text) if INTEGER.fullmatch(text) else None
        if value is None or not least <= value <= most:
            self.refuse(flag, "0 or 1" if (least, most) == (0, 1) else f"a whole number from {least} to {most}")
        return value

    def number(self, flag: str, default: Any, *, least: float, most: float, of: str = "") -> Any:
        """A number from ``least`` to ``most``, or ``default`` if the flag is not given; ``of`` names its unit."""
        text = self.given.get(flag)
        if text is None:
            return default
        value = float(text) if _FLOAT.fullmatch(text) else math.nan
        if not least <= value <= most:
            self.refuse(flag, f"a number from {_short(least)} to {_short(most)}" + (f", in {of}" if of else ""))
        return value

    def bandwidth(self, flag: str) -> float | None:
        """Bandwidth of a link in bytes/s, None if the flag is not given."""
        gbps = self.number(flag, None, least=1e-6, most=1e6, of="Gbps")
        return None if gbps is None else gbps_to_bytes_per_s(gbps)

    def bandwidths(self) -> dict[str, float]:
        """Bandwidths of a cluster that were given, bytes/s."""
        found = {
            "link_bandwidth": self.bandwidth("--interface-bandwidth"),
            "inter_gpu_bandwidth": self.bandwidth("--inter-gpu-bandwidth"),
        }
        return {name: bandwidth for name, bandwidth in found.items() if bandwidth is not None}

    def latency(self, default_us: float) -> float:
        """Latency of a link in seconds."""
        us: float = self.number("--network-latency", default_us, least=0.0, most=1e9, of="microseconds")
        return us_to_s(us)

    def segment_bytes(self) -> int:
        """Largest message in bytes; 0 for whole transfers."""
        size = self.integer("--segment-bytes", 0, least=0, most=_LARGEST_SEGMENT)
        if 0 < size < _SMALLEST_SEGMENT:
            self.refuse(
                "--segment-bytes",
                f"0 (whole transfers) or at least {_SMALLEST_SEGMENT}, or the simulation takes for ever",
            )
        return size

    def name(self, flag: str, allowed: tuple[str, ...], default: str | None = None) -> str:
        """One of the allowed names, in lower case."""
        text = self.given.get(flag, default)
        if text is None or text.lower() not in allowed:
            hint = did_you_mean(self.given[flag], allowed)
            self.refuse(flag, one_of(allowed) + (f" ({hint})" if hint else ""))
        return text.lower()

    def path(self, flag: str) -> Path | None:
        """A path, None if the flag is not given."""
        text = self.given.get(flag)
        if text is None:
            return None
        if not text or "\0" in text:
            self.refuse(flag, "the name of a directory" if flag == "--output" else "the name of a file")
        return Path(text)

    def refuse(self, flag: str, what: str) -> NoReturn:
        """Say what the value of a flag must be.

        Raises
        ------
        FlexNetError
        """
        raise FlexNetError(f'{flag} is "{self.given[flag]}"; it must be {what}')


def _short(number: float) -> str:
    """A number as people write it.

    >>> _short(1e-6), _short(0.001), _short(1e6)
    ('1e-6', '0.001', '1e6')
    """
    return re.sub(r"e([+-])0*", lambda match: "e" + match[1].removeprefix("+"), f"{number:g}")
