"""The original programs' command lines, rewritten to ours: a pure function from argv to argv and warnings.

What their authors meant counts, not what the original's scan for exact tokens did with it: ``---batch-size`` and
``mfile`` behind an en dash, both in its README, matched nothing there, and ``--degree`` never existed (reference
sections 1.2 and 1.3).
"""

import re
from collections.abc import Sequence

from flexnet.errors import FlexNetError

__all__ = ["NO_EFFECT", "PROGRAMS", "rewrite"]

PROGRAMS = {
    "dlrmsim": "dlrm",
    "candle_unosim": "candle_uno",
    "transformersim": "transformer",
    "vggsim": "vgg",
    "alexnetsim": "alexnet",
    "resnetsim": "resnet",
    "inceptionsim": "inception",
    "ncfsim": "ncf",
    "moesim": "moe",
}

# Flags the original parses and never uses in these programs, or that steer what is not here; True if they have a value.
NO_EFFECT = {
    "-e": True,
    "--epochs": True,
    "--lr": True,
    "--learning-rate": True,
    "--wd": True,
    "--weight-decay": True,
    "-p": True,
    "--print-freq": True,
    "-d": True,
    "--dataset": True,
    "--nodes": True,
    "--nsimgpu": True,
    "--no-gpu": False,
    "--profiling": False,
    "--fusion": False,
    "--overlap": False,
    "--machine-model-version": True,
    "--machine-model-file": True,
    "--simulator-segment-size": True,
    "--simulator-max-num-segments": True,
    "--simulator-workspace-size": True,
    "--allow-tensor-op-math-conversion": False,
    "--gpu-dram-bandwidth": True,
    "--topo-file": True,
    "--control-replication": False,
    "--python-data-loader-type": True,
}

_SEGMENTS = "has no effect; the original's transfers are cut by --segment-bytes 1048576"
_REASONS = {
    "--simulator-segment-size": _SEGMENTS,
    "--simulator-max-num-segments": _SEGMENTS,
    "--nsimgpu": "has no effect; several GPUs of a server are --big-gpu",
}

# Flags of flexnet profile that a search does not have, and the other way round, in the same original programs.
_ONLY_PROFILE = {
    "--max-localsz": True,
    "--device": True,
    "--dtype": True,
    "--time-cap": True,
    "--enable-attribute-parallel": False,
}
_ONLY_SEARCH = {
    "--topology": True,
    "--node-degree": True,
    "--degree": True,
    "--interface-bandwidth": True,
    "--network-latency": True,
    "--inter-gpu-bandwidth": True,
    "--mfile": True,
    "--net-opt": True,
    "--enable-propagation": False,
    "--search-budget": True,
    "--budget": True,
    "--search-alpha": True,
    "--alpha": True,
    "--seed": True,
    "--semantics": True,
    "--segment-bytes": True,
    "--taskgraph": True,
    "--export": True,
    "--export-strategy": True,
    "--import": True,
    "--import-strategy": True,
}

_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212"  # what a word processor makes of hyphens
_ODD_FLAG = re.compile(f"(?P<dashes>[{_DASHES}]+)(?P<name>[A-Za-z].*)", re.DOTALL)
_RUNTIME_FLAG = re.compile(r"-[a-z]+:\S*")  # Legion's: -ll:zsize 20000, -dm:memoize


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
    dropped = {**NO_EFFECT, "--measure": False, **(_ONLY_SEARCH if profile else _ONLY_PROFILE)}
    kept: list[str] = []
    place = 0
    while place < len(words):
        word = words[place]
        flag, equals, inline = word.partition("=")
        following = words[place + 1] if place + 1 < len(words) else None
        place += 1
        if _RUNTIME_FLAG.fullmatch(word):
            value = following if following is not None and not following.startswith("-") else None
            place += value is not None and not equals
            _runtime_flag(flag, inline if equals else value, warnings)
        elif program == "moesim" and flag == "--topology" and not profile:
            value = inline if equals else following
            place += not equals
            if value != "topoopt":
                _once(warnings, f"--topology {value} has no effect; moesim is always searched on topoopt")
        elif flag in dropped:
            if dropped[flag] and not equals and following is not None:
                place += 1
            if flag != "--measure":
                _once(warnings, f"{flag} {_REASONS.get(flag, _no_effect(flag, profile))}")
        else:
            kept.append(word)
    if program == "moesim" and not profile:
        kept += ["--topology", "topoopt"]
    return ["profile" if profile else "search", PROGRAMS[program], *kept], warnings


def _no_effect(flag: str, profile: bool) -> str:
    if flag in _ONLY_SEARCH:
        return "has no effect with --measure"
    return "has no effect without --measure" if flag in _ONLY_PROFILE and not profile else "has no effect"


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
        if value is None or not value.isascii() or not value.isdigit() or int(value) != 1:
            raise FlexNetError(f"-ll:gpu is {value}; it must be 1: several GPUs of a server are --big-gpu G")
        return  # what the original needs, and what is done here
    _once(warnings, f"{flag} has no effect")


def _once(warnings: list[str], sentence: str) -> None:
    if sentence not in warnings:
        warnings.append(sentence)
