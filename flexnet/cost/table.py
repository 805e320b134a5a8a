"""Cost tables: what every measured config of every operator costs in time and memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from flexnet.cost.shape_names import shape_name
from flexnet.errors import FlexNetError
from flexnet.model.graph import Operator
from flexnet.model.precision import PRECISIONS, Precision
from flexnet.units import ms_to_s

__all__ = ["CostTable", "Entry", "config_text", "held_seconds"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One part of an operator under one config.

    Parameters
    ----------
    degrees : tuple[int, ...]
        Pieces per dimension of output 0, innermost first, batch last; behind it that of a reduction, if it is above 1.
    forward, backward : float
        Run time of one part on one device, seconds.
    memory : int
        Bytes one part needs on one GPU.
    estimated : bool
        Estimated from another config of the operator (`flexnet.cost.estimate`).
    """

    degrees: tuple[int, ...]
    forward: float
    backward: float
    memory: int
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class CostTable:
    """Costs by measurement name.

    Parameters
    ----------
    batch_size : int
        Global batch size, samples.
    n_server : int
        Servers the operators were cut for.
    entries : Mapping[str, tuple[Entry, ...]]
        Measurement name to candidates in file order. Duplicate configs are kept, for the original draws its
        proposals from this list (model.cc:548:load_measurement); the last one's costs count.
    estimated : bool
        True if the times come from a formula and not from a GPU.
    source : str
        File name, or ``"roofline a100"``.
    provenance : Mapping[str, object]
        How the table was made, as far as its file says.
    shapes : Mapping[str, tuple[Entry, ...]]
        The same by shape-qualified name (`flexnet.cost.shape_names`), where operators of one measurement name have
        times of their own; the original's files have none.
    """

    batch_size: int
    n_server: int
    entries: Mapping[str, tuple[Entry, ...]]
    estimated: bool
    source: str
    provenance: Mapping[str, object]
    shapes: Mapping[str, tuple[Entry, ...]] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def dtype(self) -> str | None:
        """The arithmetic it is of, a name in `flexnet.model.precision.PRECISIONS`; None as the original's."""
        said = self.provenance.get("dtype")
        return said if isinstance(said, str) and said in PRECISIONS else None

    @property
    def precision(self) -> Precision:
        """The arithmetic whose elements count: single precision unless another is named."""
        return PRECISIONS["fp32" if self.dtype is None else self.dtype]

    @property
    def origin(self) -> str:
        """Where the times come from, in words."""
        return f"estimated, not measured ({self.source})" if self.estimated else f"measured ({self.source})"

    def candidates(self, op: Operator, *, by_shape: bool = True) -> tuple[Entry, ...]:
        """Entries of an operator in file order: of its shape if the table has it, else of its measurement name.

        Of a config that comes twice each entry has the costs of the last.

        Parameters
        ----------
        op : Operator
        by_shape : bool
            False as the original: by measurement name alone.

        Raises
        ------
        FlexNetError
            If the table has neither.
        """
        found = self.shapes.get(shape_name(op)) if by_shape and self.shapes else None
        if found is None:
            found = self.entries.get(op.key)
        if found is None:
            raise FlexNetError(
                f"{self.source} has no measurement {op.key}, which operator {op.name} needs; "
                "the model flags must be those it was profiled with"
            )
        last = {entry.degrees: entry for entry in found}
        return tuple(last[entry.degrees] for entry in found)

    def lookup(self, key: str, degrees: tuple[int, ...]) -> Entry:
        """Costs of measurement ``key`` cut by ``degrees``; of duplicates the last.

        Raises
        ------
        FlexNetError
            If the key, or the config of that key, is not in the table; there is no interpolation.

        Examples
        --------
        >>> table = CostTable(8, 2, {"Flat": (Entry((1, 2), 1e-3, 2e-3, 64),)}, False, "m.json", {})
        >>> table.lookup("Flat", (1, 2)).forward
        0.001
        >>> table.lookup("Flat", (1, 1))
        Traceback (most recent call last):
        flexnet.errors.FlexNetError: m.json has no measurement of Flat with config 2-1-1; it has 2-1-2
        """
        if key not in self.entries:
            raise FlexNetError(f"{self.source} has no measurement of {key}; profile the model with these flags")
        for entry in reversed(self.entries[key]):
            if entry.degrees == degrees:
                return entry
        known = ", ".join(dict.fromkeys(config_text(entry.degrees) for entry in self.entries[key]))
        raise FlexNetError(
            f"{self.source} has no measurement of {key} with config {config_text(degrees)}; it has {known}"
        )


def config_text(degrees: tuple[int, ...]) -> str:
    """The original's text of a config, ``<rank>-<degree>-...-<batch degree>`` (simulator.cc:448).

    >>> config_text((1, 16))
    '2-1-16'
    """
    return "-".join(str(n) for n in (len(degrees), *degrees))


def held_seconds(ms: float) -> float:
    """Seconds as a measurement file holds them: milliseconds rounded to float32 (model.cc:548), kept as double."""
    return ms_to_s(float(np.float32(ms)))
