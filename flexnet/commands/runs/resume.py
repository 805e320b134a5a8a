"""Reads what a stopped run was asked to do, so that it can go on with just that."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from flexnet.commands.requests.flags import Given
from flexnet.commands.requests.model_command import Asked
from flexnet.commands.requests.model_flags import from_anywhere
from flexnet.commands.requests.search import SearchRequest, search_request
from flexnet.commands.requests.search_flags import parse_search
from flexnet.commands.runs.record import FORMAT, VERSION
from flexnet.commands.runs.versions import versions
from flexnet.errors import FlexNetError
from flexnet.files import read_regular

__all__ = ["Earlier", "is_run_of", "read_earlier", "resumed_request"]

_LIMITS = ("--search-budget", "--time")
_MAY_DIFFER = (*_LIMITS, "--resume", "--output", "--no-report", "--json")
_NOW = (*_LIMITS, "--topology", "--no-report", "--json", "--mfile", "--import", "--warm-start")
_HASHED = ("--mfile", "--import", "--warm-start")  # may have moved: their contents are compared


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
    extended_at : tuple of int
        Proposals after which it was resumed with another limit, or for more seconds.
    """

    source: str
    status: str
    arguments: tuple[str, ...]
    search_s: float
    hashes: Mapping[str, str]
    versions: Mapping[str, str]
    extended_at: tuple[int, ...] = ()

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

    def repeats(self, request: SearchRequest) -> bool:
        """Whether the run has finished, and another one of its search would come out bit for bit the same."""
        same = self.status == "finished" and self.versions == versions() and not self.extended_at
        return same and not self.extended_by(request)

    def extended_by(self, request: SearchRequest) -> bool:
        """Whether a search that goes on with the run ends elsewhere than the run would have, as far as is known."""
        limits = [parse_search(words).values for words in (self.arguments, request.arguments)]
        if any(values["time"] is not None for values in limits):
            return True
        return bool(limits[0]["search_budget"] != limits[1]["search_budget"])


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
    if not isinstance(document, dict) or (document.get("format"), document.get("version")) != (FORMAT, VERSION):
        raise FlexNetError(
            f'{path} is not of a run of this version: it must say "format": "{FORMAT}", "version": {VERSION}'
        )
    arguments, files, search_s = document.get("arguments"), document.get("files"), document.get("search_s")
    if not isinstance(arguments, list) or not all(isinstance(word, str) for word in arguments):
        raise FlexNetError(f'{path} is damaged: "arguments" must be a list of words')
    if not isinstance(files, dict) or not isinstance(search_s, int | float):
        raise FlexNetError(f'{path} is damaged: it must have "files" and "search_s"')
    hashes = {flag: str(item.get("sha256")) for flag, item in files.items() if isinstance(item, dict)}
    ran_with = document.get("versions")
    before = {str(name): str(text) for name, text in ran_with.items()} if isinstance(ran_with, dict) else {}
    status, extended = str(document.get("status")), document.get("extended_at")
    extended_at = tuple(n for n in extended if isinstance(n, int)) if isinstance(extended, list) else ()
    return Earlier(str(path), status, tuple(arguments), float(search_s), hashes, before, extended_at)


def resumed_request(earlier: Earlier, asked: Asked) -> SearchRequest:
    """What a stopped run was asked, with the budget and output directory of now.

    Parameters
    ----------
    earlier : Earlier
    asked : Asked
        What the command line repeats; it must agree.

    Raises
    ------
    FlexNetError
        If a flag other than ``--search-budget`` and ``--time`` differs, or the recorded flags are not valid.
    """
    old = parse_search(earlier.arguments)
    if old.model is None:
        raise FlexNetError(f'{earlier.source} is damaged: "arguments" must start with a model')
    if asked.model is not None and from_anywhere(asked.model) != from_anywhere(old.model):
        raise FlexNetError(f"--resume continues a run of model {old.model}; the command line has {asked.model}")
    given, directory = asked.given, asked.given["--resume"]
    if "--overwrite" in given:
        raise FlexNetError("--resume and --overwrite exclude each other: a run is either continued or replaced")
    if "--output" in given and Path(given["--output"]).absolute() != Path(directory).absolute():
        raise FlexNetError(f"--output is {given['--output']!r}; a resumed run writes to {directory!r}, where it began")
    flags = {**old.given, **old.model_given}
    if isinstance(old.values["topology"], Path) and isinstance(asked.values["topology"], Path):
        flags["--topology"] = given["--topology"]  # may have moved, as the files in _HASHED
    before = _comparable(_request(old.model, flags))
    for flag, text in {**given, **asked.model_given}.items():
        if flag not in (*_MAY_DIFFER, *_HASHED) and _comparable(_request(old.model, {**flags, flag: text})) != before:
            raise _differs(flag, text, flags.get(flag), earlier)
    now = {flag: given[flag] for flag in _NOW if flag in given}
    if any(flag in given for flag in _LIMITS):  # a new limit replaces the old ones
        flags = {flag: text for flag, text in flags.items() if flag not in _LIMITS}
    if "--mfile" in now and "--mfile" not in flags:
        raise _differs("--mfile", now["--mfile"], None, earlier)
    return _request(old.model, {**flags, **now, "--output": directory})


def is_run_of(earlier: Earlier, request: SearchRequest, files: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether a run is one of this very search, but for its budget, so that it can be resumed instead."""
    asked = parse_search(earlier.arguments)
    if asked.model is None or earlier.hashes != {flag: found["sha256"] for flag, found in files.items()}:
        return False
    if request.drawing is not None and isinstance(asked.values["topology"], Path):
        asked.values["topology"] = request.drawing  # whose contents are those of the one it ran with
    return _comparable(search_request(asked)) == _comparable(request)


def _request(model: str, flags: Given) -> SearchRequest:
    words = [word for flag, text in flags.items() for word in ((flag, text) if text else (flag,))]
    return search_request(parse_search([model, *words]))


def _comparable(request: SearchRequest) -> tuple[Any, ...]:
    """What decides the chain of proposals, and where files go; contents of input files are compared by their hash."""
    return (
        request.graph,
        request.cluster,
        {**request.settings.to_dict(), "budget": 0, "time": None},
        request.semantics,
        request.gpu,
        request.every_cut,
        request.optimizer,
        request.micro_batches,
        request.tensor_parallel,
        *(path and path.absolute() for path in (request.export, request.taskgraph)),
    )


def _differs(flag: str, text: str, old: str | None, earlier: Earlier) -> FlexNetError:
    was = "was not given" if old is None else f'was "{old}"'
    now = f'"{text}"' if text else "given"
    return FlexNetError(
        f"{flag} is {now}, but {was} when {earlier.source} was written; only --search-budget and --time may differ"
    )
