"""Reads what a stopped run was asked to do, so that it can go on with just that."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from flexnet.config import RunConfig, make_run_config
from flexnet.errors import FlexNetError
from flexnet.flags import SEARCH, Given, parse_model_command
from flexnet.input_files import read_regular
from flexnet.provenance import versions

__all__ = ["Earlier", "is_run_of", "read_earlier", "resumed_config"]

_MAY_DIFFER = ("--search-budget", "--resume", "--output")
_HASHED = ("--mfile", "--import")  # may have moved: their contents are compared


@dataclass(frozen=True, slots=True)
class Earlier:
    """A stopped run.

    Parameters
    ----------
    source : str
        Its ``run.json``, for messages.
    status : str
        ``running`` (or killed), ``interrupted`` or ``finished``.
    arguments : tuple of str
        Model and flags it was started with.
    search_s : float
        Seconds it has spent proposing.
    hashes : Mapping[str, str]
        SHA-256 of its input files by flag.
    versions : Mapping[str, str]
        Of flexnet and the libraries it ran with.
    """

    source: str
    status: str
    arguments: tuple[str, ...]
    search_s: float
    hashes: Mapping[str, str]
    versions: Mapping[str, str]

    def check_files(self, files: Mapping[str, Mapping[str, str]]) -> None:
        """Refuse to go on with input files that have changed.

        Raises
        ------
        FlexNetError
            Naming the file.
        """
        for flag, found in files.items():
            if self.hashes.get(flag) != found["sha256"]:
                raise FlexNetError(
                    f"{flag} {found['path']} is not the file that {self.source} records; a resumed run needs the same"
                )

    def repeats(self, config: RunConfig) -> bool:
        """Whether the run has finished, and another one of its search would come out bit for bit the same."""
        _, given, _ = parse_model_command("search", SEARCH, self.arguments)
        same_budget = int(given.get("--search-budget", 0)) == config.settings.budget
        return self.status == "finished" and self.versions == versions() and same_budget


def read_earlier(directory: Path) -> Earlier:
    """Read ``run.json`` of a stopped run.

    Raises
    ------
    FlexNetError
        If it is missing or damaged.
    """
    path = directory / "run.json"
    try:
        document = orjson.loads(read_regular(path))
    except (OSError, ValueError) as error:
        if isinstance(error, orjson.JSONDecodeError):
            raise FlexNetError(f"{path} is not valid JSON: {error}") from None
        reason = getattr(error, "strerror", None) or error
        raise FlexNetError(f"--resume {directory}: cannot read {path}: {reason}") from None
    if not isinstance(document, dict) or document.get("format") != "flexnet-run" or document.get("version") != 1:
        raise FlexNetError(f'{path} is not of a run of this version: it must say "format": "flexnet-run", "version": 1')
    arguments, files, search_s = document.get("arguments"), document.get("files"), document.get("search_s")
    if not isinstance(arguments, list) or not all(isinstance(word, str) for word in arguments):
        raise FlexNetError(f'{path} is damaged: "arguments" must be a list of words')
    if not isinstance(files, dict) or not isinstance(search_s, int | float):
        raise FlexNetError(f'{path} is damaged: it must have "files" and "search_s"')
    hashes = {flag: str(item.get("sha256")) for flag, item in files.items() if isinstance(item, dict)}
    ran_with = document.get("versions")
    before = {str(name): str(text) for name, text in ran_with.items()} if isinstance(ran_with, dict) else {}
    return Earlier(str(path), str(document.get("status")), tuple(arguments), float(search_s), hashes, before)


def resumed_config(earlier: Earlier, model: str | None, given: Given, model_given: Given) -> RunConfig:
    """Config of a stopped run, with the budget and output directory of now.

    Parameters
    ----------
    earlier : Earlier
    model : str or None
    given, model_given : Given
        What the command line repeats; it must agree.

    Raises
    ------
    FlexNetError
        If a flag other than ``--search-budget`` differs, or the recorded flags are not valid.
    """
    name, old, old_model = parse_model_command("search", SEARCH, earlier.arguments)
    if name is None:
        raise FlexNetError(f'{earlier.source} is damaged: "arguments" must start with a model')
    if model is not None and model != name:
        raise FlexNetError(f"--resume continues a run of model {name}; the command line has {model}")
    directory = given["--resume"]
    if "--overwrite" in given:
        raise FlexNetError("--resume and --overwrite exclude each other: a run is either continued or replaced")
    if "--output" in given and Path(given["--output"]).absolute() != Path(directory).absolute():
        raise FlexNetError(f"--output is {given['--output']!r}; a resumed run writes to {directory!r}, where it began")
    before = _comparable(make_run_config(name, old, old_model))
    for flag, text in given.items():
        if (
            flag not in (*_MAY_DIFFER, *_HASHED)
            and _comparable(make_run_config(name, {**old, flag: text}, old_model)) != before
        ):
            raise _differs(flag, text, old.get(flag), earlier)
    for flag, text in model_given.items():
        if _comparable(make_run_config(name, old, {**old_model, flag: text})) != before:
            raise _differs(flag, text, old_model.get(flag), earlier)
    now = {flag: given[flag] for flag in ("--search-budget", *_HASHED) if flag in given}
    if "--mfile" in now and "--mfile" not in old:
        raise _differs("--mfile", now["--mfile"], None, earlier)
    return make_run_config(name, {**old, **now, "--output": directory}, old_model)


def is_run_of(earlier: Earlier, config: RunConfig, files: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether a run is one of this very search, but for its budget, so that it can be resumed instead."""
    name, given, model_given = parse_model_command("search", SEARCH, earlier.arguments)
    if name is None or earlier.hashes != {flag: found["sha256"] for flag, found in files.items()}:
        return False
    return _comparable(make_run_config(name, given, model_given)) == _comparable(config)


def _comparable(config: RunConfig) -> tuple[Any, ...]:
    """What decides the chain of proposals, and where files go."""
    return (
        config.graph,
        config.cluster,
        replace(config.settings, budget=0),
        config.semantics,
        config.gpu,
        *(path and path.absolute() for path in (config.export, config.taskgraph)),
    )


def _differs(flag: str, text: str, old: str | None, earlier: Earlier) -> FlexNetError:
    was = "was not given" if old is None else f'was "{old}"'
    now = f'"{text}"' if text else "given"
    return FlexNetError(
        f"{flag} is {now}, but {was} when {earlier.source} was written; only --search-budget may differ"
    )
