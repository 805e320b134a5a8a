"""Families of interchangeable parts by name: one line adds a part, and none is imported before it is asked for."""

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, Generic, TypeVar

from flexnet.errors import FlexNetError, did_you_mean, one_of

__all__ = ["Registry"]

Part = TypeVar("Part")


class Registry(MutableMapping[str, Part], Generic[Part]):
    """Parts of one family by name.

    Parameters
    ----------
    what : str
        What the parts are, for messages: ``"topology"``.
    homes : Mapping[str, str]
        Name to ``"module:attribute"``, imported when the part is asked for.  Further parts are added as objects.

    Examples
    --------
    >>> units = Registry("conversion", {"ms": "flexnet.units:s_to_ms"})
    >>> units["us"] = lambda seconds: seconds * 1e6
    >>> list(units), units["ms"](2.0), units["us"](2.0)
    (['ms', 'us'], 2000.0, 2000000.0)
    >>> units["mss"]
    Traceback (most recent call last):
    flexnet.errors.FlexNetError: unknown conversion 'mss'; did you mean ms?
    """

    def __init__(self, what: str, homes: Mapping[str, str]) -> None:
        self.what = what
        self._homes = dict(homes)
        self._parts: dict[str, Part] = {}

    def __getitem__(self, name: str) -> Part:
        """The part called ``name``.

        Raises
        ------
        FlexNetError
            If there is none.
        """
        self.check(name)
        if name not in self._parts:
            module, attribute = self._homes[name].split(":")
            self._parts[name] = getattr(import_module(module), attribute)
        return self._parts[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The part called ``name``, or ``default`` if there is none."""
        if name not in self:
            return default
        return self[name]

    def peek(self, name: str) -> Part | None:
        """The part called ``name`` if it has been added or asked for, and so is imported; else None."""
        return self._parts.get(name)

    def check(self, name: str) -> None:
        """Refuse a name that no part has, without importing one.

        Raises
        ------
        FlexNetError
            With the name that was meant, or all there are.
        """
        if name not in self:
            hint = did_you_mean(str(name), self) or f"choose {one_of(tuple(self))}"
            raise FlexNetError(f"unknown {self.what} {name!r}; {hint}")

    def __setitem__(self, name: str, part: Part) -> None:
        self._parts[name] = part

    def __delitem__(self, name: str) -> None:
        self._homes.pop(name, None)
        self._parts.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._homes or name in self._parts

    def __iter__(self) -> Iterator[str]:
        yield from self._homes
        yield from (name for name in self._parts if name not in self._homes)

    def __len__(self) -> int:
        return len({*self._homes, *self._parts})
