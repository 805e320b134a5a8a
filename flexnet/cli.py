"""The command line: which command, its exit status, and errors as one line.

Nothing heavy is imported before a command runs, so that help and errors come at once.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from flexnet._legacy import PROGRAMS, rewrite
from flexnet.errors import FlexNetError
from flexnet.flags import (
    DP,
    PROFILE,
    SEARCH,
    SIMULATE,
    VALIDATE,
    Given,
    Option,
    command_help,
    parse_arguments,
    parse_model_command,
    refuse_unknown,
)
from flexnet.progress import complain, open_streams, say, warn
from flexnet.wording import did_you_mean

__all__ = ["run"]

_LONGEST = 1000  # characters of an error, which may repeat what was typed

_HELP = f"""usage: flexnet COMMAND [flags]

Searches how to parallelize a DNN over servers, together with the network topology that joins them.

commands:
  search MODEL      find the fastest strategy and topology; write them and the task graph
  profile MODEL     write a measurement file
  simulate FILE     replay a task graph (taskgraph.fbuf) on its network or another
  validate          recompute published results
  dp GRAPH          find the provably best strategy under PaSE's cost model
  models            the models, their flags and defaults
  {", ".join(list(PROGRAMS)[:5])},
  {", ".join(list(PROGRAMS)[5:])}
                    the original programs' command lines, unchanged

flexnet COMMAND --help and flexnet search MODEL --help tell the flags.
"""

_SEARCH_ABOUT = """Finds the strategy and topology with the shortest training iteration.
MODEL is one that flexnet models lists; flexnet search MODEL --help shows its flags too."""
_PROFILE_ABOUT = "Writes what every operator of MODEL takes, for flexnet search --mfile."
_SIMULATE_ABOUT = """Replays one training iteration of a task graph file, this program's or the original's:
how long it takes, where the time goes, and which links are busiest."""
_DP_ABOUT = """Finds the configuration of every operator with the least cost under PaSE's model, exactly.
GRAPH is alexnet, resnet101, inception3, rnnlm or transformer."""
_VALIDATE_ABOUT = (
    "Recomputes every published case found in a directory; exits with 1 if one is out of tolerance or cannot be done."
)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command and flags; those of this process if None.

    Returns
    -------
    int
        Exit status: 0 done, 1 a validation failed, 2 wrong input (one line on standard error says what), 130 stopped
        by Ctrl-C.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    open_streams()
    for stream in (sys.stdout, sys.stderr):  # names of files may be no text
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        return _dispatch(words)
    except FlexNetError as error:
        return _complain(str(error))
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        return _complain(f"{where}{error.strerror or error}")
    except MemoryError:
        return _complain("this takes more memory than there is; make the model, the batch or the cluster smaller")
    except KeyboardInterrupt:
        return _interrupted(words)
    except SystemError as error:  # what a compiled kernel makes of Ctrl-C that comes while it runs
        if not _has_cause(error, KeyboardInterrupt):
            raise
        return _interrupted(words)


def _complain(sentence: str) -> int:
    line = " ".join(sentence.split())
    if len(line) > _LONGEST:
        line = f"{line[: _LONGEST // 2]} ... {line[-_LONGEST // 2 :]}"
    complain(f"flexnet: error: {line}")
    return 2


def _interrupted(words: list[str]) -> int:
    searching = bool(words) and (words[0] == "search" or words[0] in PROGRAMS)
    _complain("interrupted" + (" before the search began; nothing was written" if searching else ""))
    return 130


def _has_cause(error: BaseException | None, kind: type[BaseException]) -> bool:
    while error is not None and not isinstance(error, kind):
        error = error.__cause__
    return error is not None


def _dispatch(words: list[str]) -> int:
    commands: dict[str, Callable[[list[str], list[str]], int]] = {
        "search": _search,
        "profile": _profile,
        "simulate": _simulate,
        "dp": _dp,
        "validate": _validate,
        "models": _models,
    }
    if not words:
        raise FlexNetError("no command given; flexnet --help lists the commands")
    command, rest = words[0], words[1:]
    if command in ("--help", "-h"):
        say(_HELP.rstrip())
        return 0
    if command == "--version":
        if rest:
            raise FlexNetError(f"unexpected argument {rest[0]!r} after --version")
        from flexnet.provenance import installed_version

        say(f"flexnet {installed_version('flexnet')}")
        return 0
    typed = ["flexnet", *words]
    if command in PROGRAMS:
        argv, warnings = rewrite(command, rest)
        for sentence in warnings:
            warn(sentence)
        if "--semantics" not in argv and argv[0] == "search" and "--help" not in argv and "-h" not in argv:
            warn("costs follow corrected semantics; --semantics original prices as the original program did")
        return commands[argv[0]](argv[1:], typed)
    if command not in commands:
        hint = did_you_mean(command, [*commands, *PROGRAMS]) or "flexnet --help lists the commands"
        raise FlexNetError(f"unknown command {command!r}; {hint}")
    return commands[command](rest, typed)


def _search(words: list[str], typed: list[str]) -> int:
    model, given, model_given = parse_model_command("search", SEARCH, words)
    if "--help" in given:
        say(command_help("search", _SEARCH_ABOUT, SEARCH, model))
        return 0
    if "--resume" in given:
        from flexnet.resume import read_earlier, resumed_config

        earlier = read_earlier(Path(given["--resume"]))
        config = resumed_config(earlier, model, given, model_given)
    else:
        from flexnet.config import make_run_config

        earlier = None
        config = make_run_config(_required(model, "search"), given, model_given)

    from flexnet.runs import run_search

    return run_search(config, typed, earlier)


def _profile(words: list[str], typed: list[str]) -> int:
    model, given, model_given = parse_model_command("profile", PROFILE, words)
    if "--help" in given:
        say(command_help("profile", _PROFILE_ABOUT, PROFILE, model))
        return 0

    from flexnet.config import make_profile_config

    config = make_profile_config(_required(model, "profile"), given, model_given)
    for sentence in config.warnings:
        warn(sentence)

    from flexnet.profiles import run_profile

    return run_profile(config, typed)


def _flags_of(options: Sequence[Option], words: list[str]) -> tuple[Given, list[str]]:
    """Flags of a command without a model, and the words that are none."""
    given, stray, unknown = parse_arguments(options, words)
    refuse_unknown(unknown, options, {})
    return given, stray


def _simulate(words: list[str], typed: list[str]) -> int:
    del typed
    given, stray = _flags_of(SIMULATE, words)
    if "--help" in given:
        say(command_help("simulate", _SIMULATE_ABOUT, SIMULATE))
        return 0
    if not stray:
        raise FlexNetError("no task graph given; use flexnet simulate FILE.fbuf")
    if len(stray) > 1:
        raise FlexNetError(f"unexpected argument {stray[1]!r}; flexnet simulate takes one file")

    from flexnet.replay_config import make_replay_config
    from flexnet.replays import run_replay

    return run_replay(make_replay_config(stray[0], given))


def _dp(words: list[str], typed: list[str]) -> int:
    given, stray = _flags_of(DP, words)
    if "--help" in given:
        say(command_help("dp", _DP_ABOUT, DP))
        return 0

    from flexnet.dp_config import make_dp_config
    from flexnet.dp_run import run_dp

    return run_dp(make_dp_config(stray, given), typed)


def _validate(words: list[str], typed: list[str]) -> int:
    del typed
    given, stray = _flags_of(VALIDATE, words)
    if "--help" in given:
        say(command_help("validate", _VALIDATE_ABOUT, VALIDATE))
        return 0
    if stray:
        raise FlexNetError(f"unexpected argument {stray[0]!r}; use flexnet validate --data DIR")
    if not given.get("--data") or "\0" in given["--data"]:
        raise FlexNetError("--data is missing; it names the directory with measurements/, taskgraphs/ and costs/")

    from flexnet.validate import validate

    notes: list[str] = []
    n_ok = n_wrong = n_damaged = 0
    for case in validate(Path(given["--data"]), notes):
        n_ok += case.ok
        if case.problem:
            n_damaged += 1
            say(f"{case.name:<48} FAIL: {' '.join(case.problem.split())}")
            continue
        n_wrong += not case.ok
        say(
            f"{case.name:<48} ours {case.ours:<24} theirs {case.theirs:<16} difference {case.difference:<12} "
            f"tolerance {case.tolerance:<16} {'ok' if case.ok else 'FAIL'}"
        )
    for note in notes:
        say(f"left out   {' '.join(note.split())}")
    damaged = f", {n_damaged} could not be recomputed" if n_damaged else ""
    say(f"{n_ok + n_wrong + n_damaged} cases: {n_ok} ok, {n_wrong} out of tolerance{damaged}")
    return 1 if n_wrong or n_damaged else 0


def _models(words: list[str], typed: list[str]) -> int:
    del typed
    given, stray, unknown = parse_arguments((), words)
    refuse_unknown(unknown, (), {})
    if stray:
        raise FlexNetError(f"unexpected argument {stray[0]!r}; flexnet models takes none")
    if "--help" in given:
        say(command_help("models", "Lists the models, their flags and defaults.", ()))
        return 0

    from flexnet.models import MODELS

    for spec in MODELS.values():
        say(f"{spec.name:<13} {spec.summary} (the original's {spec.program})")
        for flag in spec.flags:
            note = flag.help if flag.effective else f"no effect: {flag.help}"
            say(f"  {flag.name:<28} {flag.default_text:<16} {note}")
    return 0


def _required(model: str | None, command: str) -> str:
    if model is None:
        from flexnet.models import MODELS

        raise FlexNetError(f"no model given; use flexnet {command} MODEL, one of {', '.join(MODELS)}")
    return model
