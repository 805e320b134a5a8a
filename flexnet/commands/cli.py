"""The command line: which command, its exit status, and errors as one line.

Commands are imported when they are asked for, and nothing heavy before one runs, so that help and errors come at once.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click
from click.shell_completion import shell_complete

from flexnet.commands.console.printing import complain, open_streams, say, warn
from flexnet.commands.console.signals import heard_by_kernels
from flexnet.commands.requests.flags import Helpful
from flexnet.commands.requests.original_programs import PROGRAMS
from flexnet.errors import FlexNetError, did_you_mean
from flexnet.interrupts import GivenUp

__all__ = ["COMMANDS", "run"]

COMMANDS = {
    "search": "find the fastest strategy and topology; write them and the task graph",
    "profile": "write a measurement file",
    "import": "make a model file of a PyTorch module or an ONNX file",
    "simulate": "replay a task graph (taskgraph.fbuf) on its network or another",
    "report": "make a page on what a search found",
    "trace": "write a timeline of an iteration for Perfetto",
    "inspect": "tell what a task graph file holds",
    "validate": "recompute published results",
    "compare": "which network for this model and this money",
    "sweep": "search many points, on this machine or a cluster",
    "plot": "draw what a sweep found",
    "dp": "find the provably best strategy under PaSE's cost model",
    "models": "the models, their flags and defaults",
}
"""Every command, a module here that holds a click command of its name, and what it does."""

_LONGEST = 1000  # characters of an error, which may repeat what was typed
_COMPLETE = "_FLEXNET_COMPLETE"  # set by the shell, see click's documentation on shell completion


class _Program(Helpful, click.Group):
    """All commands, none of them imported yet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = "import_" if cmd_name == "import" else cmd_name  # a word of Python's own
        command: click.Command = getattr(import_module(f"flexnet.commands.{module}"), module)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not ctx.resilient_parsing:
            hint = did_you_mean(name, [*COMMANDS, *PROGRAMS]) or "flexnet --help lists the commands"
            raise FlexNetError(f"unknown command {name!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("commands"):
            formatter.write_dl(list(COMMANDS.items()))
        with formatter.section("the original programs' command lines, unchanged"):
            formatter.write_text(", ".join(PROGRAMS))


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from flexnet.commands.runs.versions import installed_version

    say(f"flexnet {installed_version('flexnet')}")
    ctx.exit()


_program = _Program(
    "flexnet",
    help="Searches how to parallelize a DNN over servers, together with the network topology that joins them.",
    epilog="flexnet COMMAND --help and flexnet search MODEL --help tell the flags.",
    options_metavar="",
    subcommand_metavar="COMMAND [flags]",
    context_settings={"max_content_width": 120},
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_version,
            help="Show the version.",
        )
    ],
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
        if os.environ.get(_COMPLETE):
            return shell_complete(_program, {}, "flexnet", _COMPLETE, os.environ[_COMPLETE])
        with heard_by_kernels():
            return _dispatch(words)
    except click.exceptions.Exit as request:
        return request.exit_code
    except click.ClickException as error:
        from flexnet.commands.requests.wrong_flags import sentence_of

        return _complain(sentence_of(error))
    except FlexNetError as error:
        return _complain(str(error))
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        return _complain(f"{where}{error.strerror or error}")
    except MemoryError:
        return _complain("this takes more memory than there is; make the model, the batch or the cluster smaller")
    except (KeyboardInterrupt, GivenUp):
        return _interrupted(words)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        return _complain(
            "compiled code can be kept neither beside flexnet's sources nor in the user's cache; set NUMBA_CACHE_DIR "
            "to a directory that can be written"
        )
    except SystemError as error:  # what a compiled kernel makes of Ctrl-C that comes while it runs
        if not _has_cause(error, KeyboardInterrupt):
            raise
        return _interrupted(words)


def _dispatch(words: list[str]) -> int:
    if not words:
        raise FlexNetError("no command given; flexnet --help lists the commands")
    if words[0] == "--version" and len(words) > 1:
        raise FlexNetError(f"unexpected argument {words[1]!r} after --version")
    typed = ["flexnet", *words]
    if words[0] in PROGRAMS:
        words = _rewritten(words)
    with _program.make_context("flexnet", words, obj=typed) as ctx:
        return int(_program.invoke(ctx) or 0)


def _rewritten(words: list[str]) -> list[str]:
    """An original program's command line as ours."""
    from flexnet.commands.requests.legacy import rewrite

    argv, warnings = rewrite(words[0], words[1:])
    for sentence in warnings:
        warn(sentence)
    if "--semantics" not in argv and argv[0] == "search" and "--help" not in argv and "-h" not in argv:
        warn("costs follow corrected semantics; --semantics original prices as the original program did")
    return argv


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
