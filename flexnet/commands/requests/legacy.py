"""The original programs' command lines, rewritten to ours: a pure function from argv to argv and warnings.

What their authors meant counts, not what the original's scan for exact tokens did with it: ``---batch-size`` and
``mfile`` behind an en dash, both in its README, matched nothing there, and ``--degree`` never existed (reference
sections 1.2 and 1.3).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import click

from flexnet.commands.requests.flags import is_flag
from flexnet.commands.requests.model_flags import model_flags
from flexnet.commands.requests.original_programs import NO_EFFECT, PROGRAMS
from flexnet.commands.requests.profile import PROFILE_FLAGS
from flexnet.commands.requests.search_flags import SEARCH_FLAGS
from flexnet.errors import FlexNetError
from flexnet.network.topologies import TOPOLOGIES

__all__ = ["rewrite"]

DEGREE = "--node-degree"

_SEGMENTS = "has no effect; the original's transfers are cut by --segment-bytes 1048576"
_REASONS = {
    "--simulator-segment-size": _SEGMENTS,
    "--simulator-max-num-segments": _SEGMENTS,
    "--nsimgpu": "has no effect; several GPUs of a server are --big-gpu",
}

_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212"  # what a word processor makes of hyphens
_ODD_FLAG = re.compile(f"(?P<dashes>[{_DASHES}]+)(?P<name>[A-Za-z].*)", re.DOTALL)
_RUNTIME_FLAG = re.compile(r"-[a-z]+:\S*")  # Legion's: -ll:zsize 20000, -dm:memoize


@dataclass(frozen=True, slots=True)
class _Word:
    """What stays of a command line, as typed; of a flag with a value also its first spelling and that value."""

    typed: tuple[str, ...]
    flag: str | None = None
    value: str | None = None


def rewrite(program: str, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Rewrite an original command line.

    Parameters
    ----------
    program : str
        One of `PROGRAMS`.
    arguments : sequence of str
        What followed it.

    Returns
    -------
    argv : list of str
        Command, model and flags of ``flexnet``.
    warnings : list of str
        Sentences on what was changed or has no effect, each flag named once.

    Raises
    ------
    FlexNetError
        If ``-ll:gpu`` asks for more than one GPU.

    Examples
    --------
    >>> rewrite("vggsim", ["-ll:gpu", "1", "---batch-size", "4096", "--topology", "fattree"])
    (['search', 'vgg', '--batch-size', '4096', '--topology', 'fattree'], ['read ---batch-size as --batch-size'])
    """
    warnings: list[str] = []
    words = [_plain(word, warnings) for word in arguments]
    profile = "--measure" in words
    names, others = _spellings(program, profile)
    without_value = {"--measure", *(name for name, has_value in NO_EFFECT.items() if not has_value)}
    without_value |= {name for name, option in {**names, **others}.items() if option.is_flag}
    kept: list[_Word] = []
    place = 0
    while place < len(words):
        word = words[place]
        flag, equals, inline = word.partition("=")
        following = words[place + 1] if place + 1 < len(words) else None
        if following is not None and is_flag(following):
            following = None
        value = inline if equals else following
        place += 1
        if _RUNTIME_FLAG.fullmatch(word):
            place += value is not None and not equals
            _runtime_flag(flag, value, warnings)
        elif program == "moesim" and flag == "--topology" and not profile and value is not None:
            place += not equals
            if value != "topoopt":
                _once(warnings, f"--topology {value} has no effect; moesim is always searched on topoopt")
        elif flag in NO_EFFECT or flag in others or flag == "--measure":
            place += flag not in without_value and value is not None and not equals
            if flag != "--measure":
                _once(warnings, f"{flag} {_why_not(flag, profile)}")
        elif flag in names and not names[flag].is_flag and value is not None:
            place += not equals
            first = names[flag].opts[0]
            kept = [*_without(kept, first, value, warnings), _Word((word,) if equals else (word, value), first, value)]
        else:
            kept.append(_Word((word,)))
    if program == "moesim" and not profile:
        kept.append(_Word(("--topology", "topoopt")))
    return _rewritten(program, _with_meaning(kept, warnings), profile), warnings


def _rewritten(program: str, kept: list[_Word], profile: bool) -> list[str]:
    """Command, model and flags."""
    return [
        "profile" if profile else "search",
        PROGRAMS[program],
        *(text for word in kept for text in word.typed),
    ]


def _with_meaning(kept: list[_Word], warnings: list[str]) -> list[_Word]:
    """What is kept, less a degree that the topology does not have: the original's scripts give it to all of them."""
    topology = next((str(word.value).lower() for word in kept if word.flag == "--topology"), None)
    if topology is None or topology not in TOPOLOGIES or "degree" in TOPOLOGIES[topology].parameters():
        return kept
    if any(word.flag == DEGREE for word in kept):
        _once(warnings, f"{DEGREE} has no effect with --topology {topology}")
    return [word for word in kept if word.flag != DEGREE]


def _spellings(program: str, profile: bool) -> tuple[dict[str, click.Option], dict[str, click.Option]]:
    """Every spelling of the flags of the command and the model that are meant, and of the other command's alone."""

    def options(params: Iterable[click.Parameter]) -> dict[str, click.Option]:
        return {name: param for param in params if isinstance(param, click.Option) for name in param.opts}

    both = [options(SEARCH_FLAGS), options(PROFILE_FLAGS)]
    mine, other = reversed(both) if profile else both
    names = {**mine, **options(model_flags(PROGRAMS[program]))}
    return names, {name: option for name, option in other.items() if name not in names}


def _without(kept: list[_Word], flag: str, value: str, warnings: list[str]) -> list[_Word]:
    """What is kept, less another value of a flag given again: in the original's scan the last one counts."""
    for word in kept:
        if word.flag == flag and word.value != value:
            _once(
                warnings,
                f"{flag} is given as {word.value} and as {value}; the last counts, as in the original programs",
            )
    return [word for word in kept if word.flag != flag or word.value == value]


def _why_not(flag: str, profile: bool) -> str:
    if flag in NO_EFFECT:
        return _REASONS.get(flag, "has no effect")
    return "has no effect with --measure" if profile else "has no effect without --measure"


def _plain(word: str, warnings: list[str]) -> str:
    """A flag with the dashes its author meant."""
    match = _ODD_FLAG.fullmatch(word)
    if match is None or match["dashes"] in ("-", "--"):
        return word
    name = match["name"]
    short = len(name) == 1 or _RUNTIME_FLAG.fullmatch(f"-{name}")
    plain = f"-{name}" if short else f"--{name}"
    _once(warnings, f"read {word.partition('=')[0]} as {plain.partition('=')[0]}")
    return plain


def _runtime_flag(flag: str, value: str | None, warnings: list[str]) -> None:
    if flag == "-ll:gpu":
        if value is None:
            raise FlexNetError("-ll:gpu needs a value; it must be 1: several GPUs of a server are --big-gpu G")
        if not value.isascii() or not value.isdigit() or int(value) != 1:
            raise FlexNetError(f"-ll:gpu is {value}; it must be 1: several GPUs of a server are --big-gpu G")
        return  # what the original needs, and what is done here
    _once(warnings, f"{flag} has no effect")


def _once(warnings: list[str], sentence: str) -> None:
    if sentence not in warnings:
        warnings.append(sentence)
