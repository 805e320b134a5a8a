"""Reads the values of flags, or says in one sentence what they must be."""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from flexnet.errors import FlexNetError
from flexnet.flags import Given
from flexnet.units import gbps_to_bytes_per_s

__all__ = ["INTEGER", "FlagReader", "one_of"]

INTEGER = re.compile(r"[+-]?[0-9]{1,30}", re.ASCII)
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


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
        if value is None or value < least:
            self.refuse(flag, "0 or 1" if (least, most) == (0, 1) else f"a whole number of {least} or more")
        if value > most:
            self.refuse(flag, "0 or 1" if (least, most) == (0, 1) else f"a whole number from {least} to {most}")
        return value

    def number(self, flag: str, default: Any, what: str, *, least: float = -math.inf, above: float = -math.inf) -> Any:
        """A finite number of at least ``least`` and more than ``above``; ``what`` says what it must be."""
        text = self.given.get(flag)
        if text is None:
            return default
        value = float(text) if _FLOAT.fullmatch(text) else math.nan
        if not (value >= least and value > above and math.isfinite(value)):
            self.refuse(flag, what)
        return value

    def bandwidths(self) -> dict[str, float]:
        """Bandwidths of a cluster that were given, bytes/s."""
        found = {}
        for flag, name in (
            ("--interface-bandwidth", "link_bandwidth"),
            ("--inter-gpu-bandwidth", "inter_gpu_bandwidth"),
        ):
            gbps = self.number(flag, None, "a number above 0, in Gbps", above=0.0)
            if gbps is not None:
                found[name] = gbps_to_bytes_per_s(gbps)
                if not 0 < found[name] < math.inf:
                    self.refuse(flag, "a number above 0, in Gbps")
        return found

    def name(self, flag: str, allowed: tuple[str, ...], default: str | None = None) -> str:
        """One of the allowed names, in lower case."""
        text = self.given.get(flag, default)
        if text is None or text.lower() not in allowed:
            self.refuse(flag, one_of(allowed))
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


def one_of(names: tuple[str, ...]) -> str:
    """Names as a sentence has them.

    >>> one_of(("a", "b", "c"))
    'a, b or c'
    """
    return f"{', '.join(names[:-1])} or {names[-1]}"
