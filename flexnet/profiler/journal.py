"""The journal of a profile: each measurement on a line of its own, written before the next is made."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from flexnet.errors import FlexNetError
from flexnet.files import read_regular

__all__ = ["Journal", "Measured", "difference", "journal_path"]


@dataclass(frozen=True, slots=True)
class Measured:
    """One measured part.

    Parameters
    ----------
    shape : str
    degrees : tuple of int
    forward, backward : float
        Seconds; backward is 0 where there is no backward pass.
    memory : int
        Bytes.
    took : float
        Seconds all of it took.
    detail : Mapping
        Spreads, repeats, notes, clocks: what the file says beside the record.
    """

    shape: str
    degrees: tuple[int, ...]
    forward: float
    backward: float
    memory: int
    took: float
    detail: Mapping[str, Any]


def journal_path(output: Path) -> Path:
    """Where the journal of a measurement file is.

    >>> journal_path(Path("measure_64_4.json")).name
    'measure_64_4.json.partial'
    """
    return output.with_name(f"{output.name}.partial")


def difference(said: Mapping[str, object], identity: Mapping[str, object]) -> str:
    """In what a file that says so much is of another profile; empty if in nothing.

    >>> difference({"dtype": "fp32", "batch_size": 8}, {"batch_size": 16, "dtype": "fp32"})
    'its batch size is 8 and that of this profile 16'
    """
    for name, value in identity.items():
        if said.get(name) != orjson.loads(orjson.dumps(value)):
            shown = name.replace("_", " ")
            return f"its {shown} is {str(said.get(name))[:200]} and that of this profile {str(value)[:200]}"
    return ""


@dataclass(slots=True)
class Journal:
    """Measurements made so far, appended to a file.

    Parameters
    ----------
    path : Path
    identity : Mapping
        What the measurements hang on; a journal of another identity is not continued.
    refused : dict
        Shape and degrees of configs on which the device failed, to the reason.
    found : dict
        Shape and degrees of configs to their measurements.
    """

    path: Path
    identity: Mapping[str, object]
    refused: dict[tuple[str, tuple[int, ...]], str] = field(default_factory=dict)
    found: dict[tuple[str, tuple[int, ...]], Measured] = field(default_factory=dict)

    def open(self, *, resume: bool) -> None:
        """Start the journal, or read what an interrupted profile left and go on with it.

        Raises
        ------
        FlexNetError
            If there is a journal and it is not to be continued, or it is of another profile, or cannot be read.
        """
        if not self.path.exists():
            self._append(self._head(), mode="wb")
            return
        try:
            content = read_regular(self.path)
        except OSError as error:
            raise FlexNetError(f"cannot read {self.path}: {error.strerror or error}") from None
        lines = content.split(b"\n")
        whole = len(content) - len(lines.pop())  # a line that was cut off while it was written does not count
        if not whole:  # it ended before the first line was written
            self._append(self._head(), mode="wb")
            return
        if not resume:
            raise FlexNetError(
                f"{self.path} holds {len(lines) - 1} measurements of a profile that was not finished; "
                "go on with --resume, or remove the file to start again"
            )
        try:
            head, *records = (orjson.loads(line) for line in lines)
            if not isinstance(head, dict):
                raise ValueError("its first line is no object")
            self._check(head)
            for record in records:
                if "refused" in record:
                    self.refused[record["shape"], tuple(record["degrees"])] = str(record["refused"])
                    continue
                measured = Measured(
                    record["shape"],
                    tuple(record["degrees"]),
                    float(record["forward"]),
                    float(record["backward"]),
                    int(record["memory"]),
                    float(record["took"]),
                    dict(record["detail"]),
                )
                self.found[measured.shape, measured.degrees] = measured
            os.truncate(self.path, whole)
        except FlexNetError:
            raise
        except (ValueError, KeyError, TypeError) as error:
            raise FlexNetError(
                f"{self.path} cannot be continued: it is no journal of flexnet profile ({error}); remove it"
            ) from None
        except OSError as error:
            raise FlexNetError(f"cannot write {self.path}: {error.strerror or error}") from None

    def add(self, measured: Measured) -> None:
        """Keep a measurement.

        Raises
        ------
        FlexNetError
            If it cannot be written; those before it are kept.
        """
        record = {
            "shape": measured.shape,
            "degrees": measured.degrees,
            "forward": measured.forward,
            "backward": measured.backward,
            "memory": measured.memory,
            "took": round(measured.took, 3),
            "detail": measured.detail,
        }
        self._append(record, mode="ab")
        self.found[measured.shape, measured.degrees] = measured

    def refuse(self, shape: str, degrees: tuple[int, ...], reason: str) -> None:
        """Note that the device failed on a config, so that it is left out when the profile goes on.

        Raises
        ------
        FlexNetError
            If it cannot be written.
        """
        self._append({"shape": shape, "degrees": degrees, "refused": reason}, mode="ab")
        self.refused[shape, degrees] = reason

    def remove(self) -> None:
        """Remove the file: everything is in the measurement file."""
        self.path.unlink(missing_ok=True)

    def _append(self, record: Mapping[str, object], mode: str) -> None:
        try:
            with self.path.open(mode) as file:
                file.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
        except OSError as error:
            kept = f"; {len(self.found)} measurements are kept there, go on with --resume" if self.found else ""
            raise FlexNetError(f"cannot write {self.path}: {error.strerror or error}{kept}") from None

    def _head(self) -> dict[str, object]:
        return {"format": "flexnet-profile-journal", "version": 2, **self.identity}

    def _check(self, head: Mapping[str, object]) -> None:
        if differs := difference(head, self._head()):
            raise FlexNetError(f"{self.path} cannot be continued: {differs}; remove it, or name another output file")
