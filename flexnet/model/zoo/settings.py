"""Model settings: frozen dataclasses whose fields are the original's flags, with the original's defaults."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from flexnet.errors import FlexNetError, did_you_mean, one_of
from flexnet.model.graph import ModelGraph

__all__ = [
    "MOST_REPEATS",
    "Flag",
    "ModelSpec",
    "NoSettings",
    "Value",
    "check_choice",
    "check_divides",
    "check_positions",
    "check_positive",
    "flags_of",
    "option",
]

MOST_REPEATS = 10_000  # of layers or tables: more operators than any search gets through

PRESET = "--preset"

Value = int | float | str | tuple[int, ...]
Settings = TypeVar("Settings")

_DASH_LIST = re.compile(r"[0-9]+(-[0-9]+)*")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_KINDS: dict[type, str] = {int: "int", float: "float", str: "str", tuple: "int list"}
_EXPECTED = {
    "int": "a whole number",
    "float": "a number",
    "str": "a word",
    "int list": "whole numbers joined by dashes, as in 512-256-64",
}


@dataclass(frozen=True, slots=True)
class Flag:
    """A long flag of a model's command line.

    Parameters
    ----------
    name : str
        As the original spells it, e.g. ``--arch-mlp-bot``, ``--unum_per_table``.
    default : int, float, str or tuple of int
        Its type is the flag's type.
    help : str
        One line.
    effective : bool
        Whether the flag changes anything here; the others are accepted so that old command lines work.
    most : int or None
        Largest value, where larger ones make models that nothing gets through.
    """

    name: str
    default: Value
    help: str
    effective: bool = True
    most: int | None = None

    @property
    def kind(self) -> str:
        """One of ``int``, ``float``, ``str``, ``int list`` (integers joined by dashes)."""
        return _KINDS[type(self.default)]

    @property
    def dest(self) -> str:
        """The flag as a Python name; also its field in the settings.

        >>> Flag("--arch-mlp-bot", (4, 2), "").dest
        'arch_mlp_bot'
        """
        return self.name.removeprefix("--").replace("-", "_")

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other spellings: dashes where the original has underscores.

        >>> Flag("--unum_per_table", 2, "").aliases
        ('--unum-per-table',)
        """
        dashed = self.name.replace("_", "-")
        return () if dashed == self.name else (dashed,)

    @property
    def default_text(self) -> str:
        """The default as a user would type it.

        >>> Flag("--arch-mlp-bot", (4, 2), "").default_text
        '4-2'
        """
        return _as_text(self.default)

    def parse(self, value: object) -> Value:
        """Return ``value`` (text, or already of the flag's type) as the flag's type.

        >>> Flag("--arch-mlp-bot", (4, 2), "").parse("1024-512")
        (1024, 512)

        Raises
        ------
        FlexNetError
            If the value is malformed, or above the largest.
        """
        parsed = _parse(self.kind, value)
        if parsed is None:
            raise FlexNetError(f"{self.name} is {value!r}; it must be {_EXPECTED[self.kind]}")
        if self.most is not None and isinstance(parsed, int) and parsed > self.most:
            raise FlexNetError(f"{self.name} is {value!r}; it must be a whole number from 1 to {self.most}")
        return parsed


def option(default: Value, help: str, *, name: str | None = None, most: int | None = None) -> Any:
    """Make a settings field that is also a flag; ``name`` where the flag is not the field's name with dashes."""
    return field(default=default, metadata={"help": help, "flag": name, "most": most})


def flags_of(settings: type) -> tuple[Flag, ...]:
    """Return the flags of a settings class, in field order."""
    flags = []
    for item in fields(settings):
        if item.default is MISSING:
            raise TypeError(f"{settings.__name__}.{item.name} has no default")
        about = item.metadata
        flags.append(Flag(_flag_name(item.name, about), item.default, about["help"], most=about["most"]))
    return tuple(flags)


def check_positive(settings: Any, *names: str) -> None:
    """Check that the fields ``names`` are at least 1, and of lists every entry; no names means all fields.

    Raises
    ------
    FlexNetError
        Naming the flag, its value and the rule.
    """
    for item in fields(settings):
        if names and item.name not in names:
            continue
        value = getattr(settings, item.name)
        flag = _flag_name(item.name, item.metadata)
        if isinstance(value, tuple) and min(value, default=0) < 1:
            raise FlexNetError(f"{flag} is {_as_text(value)!r}; it must list sizes of at least 1, as in 512-256-64")
        if isinstance(value, int) and value < 1:
            raise FlexNetError(f"{flag} is {value}; it must be at least 1")


def check_divides(settings: Any, name: str, whole: str) -> None:
    """Check that the field ``name`` divides the field ``whole``.

    Raises
    ------
    FlexNetError
        Naming both flags and values.
    """
    value, total = getattr(settings, name), getattr(settings, whole)
    if total % value:
        flags = {item.name: _flag_name(item.name, item.metadata) for item in fields(settings)}
        raise FlexNetError(f"{flags[name]} is {value}; it must divide {flags[whole]} {total}")


def check_positions(settings: Any) -> None:
    """Check that a sample is no longer than there are learned positions.

    Raises
    ------
    FlexNetError
        Naming both flags and values.
    """
    if settings.sequence_length > settings.positions:
        raise FlexNetError(
            f"--sequence-length is {settings.sequence_length}; it must be at most --positions {settings.positions}"
        )


def check_choice(flag: str, value: str, choices: Iterable[str]) -> None:
    """Check that the value of a flag is one of the choices.

    Raises
    ------
    FlexNetError
        Naming the flag, its value and the choices.
    """
    known = tuple(choices)
    if value not in known:
        hint = did_you_mean(value, known)
        raise FlexNetError(f"{flag} is {value!r}; it must be {one_of(known)}" + (f" ({hint})" if hint else ""))


@dataclass(frozen=True, slots=True)
class NoSettings:
    """Settings of a model that has none."""


@dataclass(frozen=True, slots=True)
class ModelSpec(Generic[Settings]):
    """A model a user can name.

    Parameters
    ----------
    name : str
        Its name here, e.g. ``dlrm``.
    summary : str
        One line.
    settings : type
        Frozen dataclass of what can be set, `NoSettings` for nothing; its fields are made by `option` and are the
        model's flags on the command line.
    make : callable
        Pure function from settings and global batch size to the model.
    program : str
        The original's program, e.g. ``dlrmsim``; none for a model of one's own.
    ignored : tuple of Flag
        Flags of the original without effect.
    presets : Mapping[str, Settings]
        Settings by a name that ``--preset`` takes; the first are the defaults. None for a model without.
    """

    name: str
    summary: str
    settings: type[Settings]
    make: Callable[[Settings, int], ModelGraph]
    program: str = ""
    ignored: tuple[Flag, ...] = ()
    presets: Mapping[str, Settings] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def flags(self) -> tuple[Flag, ...]:
        """All flags: those with an effect, ``--preset`` the first of them, then those without."""
        names = list(self.presets)
        preset = [Flag(PRESET, names[0], f"sizes, which other flags change: {one_of(names)}")] if names else []
        return (*preset, *flags_of(self.settings), *self.ignored)

    def build(self, values: Mapping[str, object], batch_size: int) -> ModelGraph:
        """Build the model.

        Parameters
        ----------
        values : mapping
            Flag name (or alias) to text or value; flags that are absent or None have their default.
        batch_size : int
            Global batch, samples.

        Raises
        ------
        FlexNetError
            If a flag is unknown, or its value malformed or out of range.
        """
        known = {spelling: flag for flag in self.flags for spelling in (flag.name, *flag.aliases)}
        chosen = {}
        for name, value in values.items():
            if name not in known:
                allowed = ", ".join(flag.name for flag in self.flags) or "none"
                raise FlexNetError(f"model {self.name} has no flag {name}; its flags are: {allowed}")
            if value is None:
                continue
            parsed = known[name].parse(value)
            if known[name].effective:
                chosen[known[name].dest] = parsed
        if not self.presets:
            return self.make(self.settings(**chosen), batch_size)
        preset = str(chosen.pop("preset", next(iter(self.presets))))
        check_choice(PRESET, preset, self.presets)
        changed: Any = self.presets[preset]
        return self.make(replace(changed, **chosen), batch_size)


def _flag_name(field_name: str, metadata: Mapping[str, Any]) -> str:
    return metadata["flag"] or "--" + field_name.replace("_", "-")


def _as_text(value: Value) -> str:
    return "-".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _parse(kind: str, value: object) -> Value | None:
    """Return the value of a flag of this kind, None if it is none."""
    if kind == "str":
        return value if isinstance(value, str) else None
    if kind == "int list" and isinstance(value, (tuple, list)):
        return tuple(value) if all(type(size) is int for size in value) else None
    if not isinstance(value, (int, float, str)) or isinstance(value, bool):
        return None
    try:
        if kind == "int list":
            text = str(value)
            return tuple(int(size) for size in text.split("-")) if _DASH_LIST.fullmatch(text) else None
        if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
            return None
        if kind == "int":
            return None if isinstance(value, float) else int(value)
        return float(value)
    except ValueError:
        return None
