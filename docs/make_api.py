"""Writes api.md, the public names of flexnet as their docstrings tell them: ``python docs/make_api.py``."""

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import griffe

import flexnet

HERE = Path(__file__).parent
ROOMS = {
    "model": "Models",
    "cost": "Costs",
    "plan": "Plans",
    "network": "Networks",
    "simulate": "Simulation",
    "taskgraph_file": "Task graph files",
    "search": "Search",
    "prices": "Prices",
    "compare": "Comparisons",
    "sweep": "Sweeps",
    "": "Errors, units, registries",
}
HEAD = """# The public API

All that programs import from `flexnet`, in the order in which data flows. Made from the docstrings by
`python docs/make_api.py`; a test compares.

Examples begin with `from flexnet import ...`, of the names they use, and `import numpy as np`.

Times are seconds, sizes bytes, bandwidths bytes per second unless a name says else. What is called a registry is a
mapping from names to parts: `TOPOLOGIES["mine"] = Mine` adds one, and the
command line then knows it too (moves have no flag: `Settings.moves` gives them their shares).
"""
SECTION = griffe.DocstringSectionKind


def page() -> str:
    """The whole page."""
    logging.getLogger("griffe").setLevel(logging.ERROR)  # it looks for fields of named tuples in the base class
    package: Any = griffe.load("flexnet", search_paths=[HERE.parent], docstring_parser="numpy", resolve_aliases=True)
    rooms: dict[str, list[str]] = {room: [] for room in ROOMS}
    for module, names in flexnet._HOMES.items():
        room = module.split(".")[0]
        room = {"importing": "model", "exact": "cost"}.get(room, room)
        rooms[room if room in ROOMS else ""] += [_entry(name, package[name].final_target) for name in names]
    lines, places = [HEAD], dict[str, int]()
    for room, title in ROOMS.items():
        links = []
        for entry in rooms[room]:
            name = entry.split("`")[1]
            count = places[name.lower()] = places.get(name.lower(), -1) + 1
            links.append(f"[`{name}`](#{name.lower()}{f'-{count}' if count else ''})")
        lines.append(f"* {title}: {', '.join(links)}")
    sections = (f"\n## {title}\n\n" + "\n".join(rooms[room]) for room, title in ROOMS.items())
    return re.sub(r"\n{3,}", "\n\n", "\n".join([*lines, *sections])).rstrip() + "\n"


def _entry(name: str, item: Any) -> str:
    """A public name: what it is, then what its docstring says, then its methods and properties."""
    head = f"### `{name}`\n\n*{item.module.path}*\n\n"
    if item.is_attribute:
        return head + _text_of(item) + _names_in(name)
    text = head + f"```python\n{_signature(item)}\n```\n\n{_text_of(item)}"
    if item.is_class:
        text += "".join(_member(name, member) for key, member in item.members.items() if _is_told(key, member))
    return text


def _is_told(name: str, member: Any) -> bool:
    return not name.startswith("_") and not member.is_alias and member.docstring is not None


def _member(owner: str, member: Any) -> str:
    if member.is_function:
        head = f"{owner}.{_signature(member)}"
    else:
        head = f"{owner}.{member.name}" + (f": {member.annotation}" if member.annotation is not None else "")
    must = member.is_function and any("abstractmethod" in str(one.value) for one in member.decorators)
    return f"#### `{head}`\n\n{'*A class of your own must have it.* ' if must else ''}{_text_of(member)}"


def _signature(item: Any) -> str:
    """As in the source, on a line; that of a class has its fields."""
    bases = {str(base) for base in item.bases} if item.is_class else set()
    if bases & {"Enum", "IntEnum"}:
        return f"class {item.name}: {', '.join(key for key in item.members if key.isupper())}"
    if "NamedTuple" in bases:
        fields = [
            member for member in item.members.values() if member.is_attribute and not member.has_labels("property")
        ]
        words = [_with_default(field.name, field.annotation, field.value) for field in fields]
    else:
        words = _parameters(item)
    returns = f" -> {item.returns}" if item.is_function and item.returns is not None else ""
    text = f"{item.name}({', '.join(words)}){returns}".replace('"', "")
    return f"class {text}" if item.is_class else text


def _parameters(item: Any) -> list[str]:
    words, named_only = list[str](), False
    stars = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}
    for parameter in item.parameters:
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is griffe.ParameterKind.keyword_only and not named_only:
            words.append("*")
        star = stars.get(parameter.kind, "")
        named_only |= star == "*" or parameter.kind is griffe.ParameterKind.keyword_only
        words.append(star + _with_default(parameter.name, parameter.annotation, None if star else parameter.default))
    return words


def _with_default(name: str, annotation: object, default: object) -> str:
    typed = name if annotation is None else f"{name}: {annotation}"
    return typed if default is None else f"{typed} = {'...' if 'lambda' in str(default) else default}"


def _text_of(item: Any) -> str:
    """A docstring as Markdown."""
    if item.docstring is None:
        return ""
    parts = []
    for section in item.docstring.parsed:
        if section.kind is SECTION.text:
            parts.append(_links(section.value))
        elif section.kind is SECTION.examples:
            parts.append("\n\n".join(f"```pycon\n{text}\n```" for _, text in section.value))
        elif section.kind is SECTION.admonition:
            parts.append(_links(section.value.description))
        elif section.kind is SECTION.raises:
            parts.append("Raises `FlexNetError`: " + " ".join(_one_line(one.description) for one in section.value))
        else:
            title = section.title or section.kind.value.capitalize()
            parts.append(f"{title}:\n\n" + "\n".join(_row(one) for one in section.value))
    return "\n\n".join(part for part in parts if part) + "\n\n"


def _row(item: Any) -> str:
    name = f"`{item.name}`" if getattr(item, "name", "") else ""
    kind = f" ({item.annotation})" if item.annotation and name else str(item.annotation or "")
    text = _one_line(item.description)
    return f"* {name}{kind}" + (f": {text}" if text else "")


def _one_line(text: str) -> str:
    return _links(re.sub(r"\n(?!\n|\* )", " ", text.strip()))


def _links(text: str) -> str:
    """Literals of docstrings as Markdown has them."""
    return text.replace("``", "`")


def _names_in(name: str) -> str:
    """The parts of a registry."""
    parts = getattr(flexnet, name)
    if not isinstance(parts, Mapping):
        return ""
    names = [str(getattr(key, "name", key)) for key in parts]  # operator kinds go by number
    return f"Names: {', '.join(f'`{one}`' for one in names)}.\n\n"


if __name__ == "__main__":
    (HERE / "api.md").write_text(page())
