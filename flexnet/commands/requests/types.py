"""What values of flags may be: click's types, with our sentences on what is wrong."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from flexnet.errors import FlexNetError, did_you_mean, one_of
from flexnet.network.topologies import DRAWINGS

__all__ = [
    "AUTO",
    "FilePath",
    "FilePaths",
    "Limit",
    "Name",
    "Number",
    "Segments",
    "TopologyName",
    "Whole",
    "WholeOrAuto",
]

AUTO = "auto"
"""What leaves a number to the command."""


_WHOLE = re.compile(r"[+-]?[0-9]{1,30}", re.ASCII)  # Python also takes 1_000, blanks and the digits of other scripts
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


class Whole(click.IntRange):
    """A whole number from ``least`` to ``most``."""

    def __init__(self, least: int, most: int) -> None:
        super().__init__(least, most)
        self.what = "0 or 1" if (least, most) == (0, 1) else f"a whole number from {least} to {most}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number.

        Raises
        ------
        FlexNetError
            If it is none, or out of range.
        """
        try:
            if not _WHOLE.fullmatch(str(value)):
                raise click.BadParameter("")
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            _refuse(param, value, self.what)


class WholeOrAuto(Whole):
    """A whole number, or `AUTO`."""

    def __init__(self, least: int, most: int) -> None:
        super().__init__(least, most)
        self.what += f", or {AUTO}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or `AUTO`.

        Raises
        ------
        FlexNetError
            If it is neither.
        """
        return AUTO if str(value).lower() == AUTO else super().convert(value, param, ctx)


class Segments(Whole):
    """Largest message in bytes; 0 for whole transfers."""

    LEAST = 1000

    def __init__(self) -> None:
        super().__init__(0, 2**40)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes.

        Raises
        ------
        FlexNetError
            If it is none, or so small that simulations take for ever.
        """
        size: int = super().convert(value, param, ctx)
        if 0 < size < self.LEAST:
            _refuse(param, value, f"0 (whole transfers) or at least {self.LEAST}, or the simulation takes for ever")
        return size


class Number(click.FloatRange):
    """A number from ``least`` to ``most``; ``of`` names its unit."""

    def __init__(self, least: float, most: float, of: str = "") -> None:
        super().__init__(least, most)
        self.what = f"a number from {_short(least)} to {_short(most)}" + (f", in {of}" if of else "")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number.

        Raises
        ------
        FlexNetError
            If it is none, or out of range.
        """
        try:
            if not _NUMBER.fullmatch(str(value)):
                raise click.BadParameter("")
            return float(super().convert(value, param, ctx))
        except click.BadParameter:
            _refuse(param, value, self.what)


class Limit(Number):
    """A number, or ``none``, which is infinity."""

    def __init__(self, least: float, most: float, of: str) -> None:
        super().__init__(least, most, of)
        self.what += ", or none for no limit"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number.

        Raises
        ------
        FlexNetError
            If it is none, or out of range.
        """
        if str(value).lower() == "none" or value == float("inf"):
            return float("inf")
        return super().convert(value, param, ctx)


class Name(click.ParamType):  # type: ignore[type-arg]  # generic only in newer click
    """One of some names, in any case.

    Parameters
    ----------
    names : iterable of str, or a function that gives one
        Looked at whenever they are needed, since a program may add to a registry.
    """

    name = "name"

    def __init__(self, names: Iterable[str] | Callable[[], Iterable[str]]) -> None:
        self._names = names

    @property
    def names(self) -> tuple[str, ...]:
        """All there are now."""
        return tuple(self._names() if callable(self._names) else self._names)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Names that begin so."""
        return [CompletionItem(name) for name in self.names if name.lower().startswith(incomplete.lower())]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name, as it is registered.

        Raises
        ------
        FlexNetError
            If it is none of them, with the one it resembles.
        """
        found = next((name for name in self.names if name.lower() == str(value).lower()), None)
        if found is None:
            _refuse(param, value, self.what(did_you_mean(str(value), self.names) or ""))
        return found

    def what(self, hint: str) -> str:
        """What the value must be, with the name that may have been meant."""
        return one_of(self.names) + (f" ({hint})" if hint else "")


class TopologyName(Name):
    """A topology by name, or a file someone has drawn one in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name as it is registered, or the path of the file.

        Raises
        ------
        FlexNetError
            If it is neither.
        """
        if Path(str(value)).suffix.lower() in DRAWINGS:
            return FilePath().convert(value, param, ctx)
        return super().convert(value, param, ctx)

    def what(self, hint: str) -> str:
        """What the value must be."""
        return f"{super().what(hint)}, or the name of a {one_of(DRAWINGS)} file"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Names that begin so, and the shell's files; these first, for bash forgets what it was offered before."""
        return [CompletionItem(incomplete, type="file"), *super().shell_complete(ctx, param, incomplete)]


class FilePath(click.Path):
    """The name of a file, or of a directory."""

    def __init__(self, *, directory: bool = False) -> None:
        super().__init__(path_type=Path)
        self.what = "the name of a directory" if directory else "the name of a file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; whether anything is there is not looked at.

        Raises
        ------
        FlexNetError
            If no file can be called so.
        """
        if not value or "\0" in str(value):
            _refuse(param, value, self.what)
        return super().convert(value, param, ctx)


class FilePaths(FilePath):
    """Names of files, joined by commas."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The paths.

        Raises
        ------
        FlexNetError
            If no file can be called so.
        """
        return tuple(super(FilePaths, self).convert(name, param, ctx) for name in str(value).split(","))


def _refuse(param: click.Parameter | None, value: object, what: str) -> NoReturn:
    name = param.opts[0] if param is not None else "the value"
    raise FlexNetError(f'{name} is "{value}"; it must be {what}')


def _short(number: float) -> str:
    """A number as people write it.

    >>> _short(1e-6), _short(0.001), _short(1e6)
    ('1e-6', '0.001', '1e6')
    """
    return re.sub(r"e([+-])0*", lambda match: "e" + match[1].removeprefix("+"), f"{number:g}")
