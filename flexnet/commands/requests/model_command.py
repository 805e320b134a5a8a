"""Commands that take a model: ``flexnet search MODEL [flags]``, in any order, with the model's own flags among them."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from flexnet.commands.requests.flags import Command, Given, given_flags, is_flag
from flexnet.commands.requests.model_flags import ModelFlag, find_model, is_model_file, model_flags
from flexnet.commands.requests.types import Name
from flexnet.commands.requests.wrong_flags import check_known, check_own
from flexnet.errors import FlexNetError
from flexnet.model.zoo import MODELS

__all__ = ["Asked", "ModelCommand", "model_argument"]

_MODEL = "flexnet.model"
_NAMES = Name(MODELS)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a command with a model was asked.

    Parameters
    ----------
    model : str or None
        Name in `flexnet.model.zoo.MODELS`, or the file of one that was imported; None if none was given.
    values : dict
        Values of all flags of the command by name, defaults included.
    given, model_given : Given
        Flags of the command and of the model that were given, as text.
    """

    model: str | None
    values: dict[str, Any]
    given: Given
    model_given: Given


class ModelCommand(Command):
    """A command with an argument MODEL, whose flags it takes on."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Find the model first, then parse with its flags.

        Raises
        ------
        FlexNetError
            If the model is unknown, a flag is another model's, or there are two models.
        """
        help_flag = self.get_help_option(ctx)
        own = [*super().get_params(ctx), help_flag]
        known = [*own, *(flag for name in MODELS for flag in model_flags(name))]
        words, flags = _words_and_flags(known, args)
        if ctx.resilient_parsing:  # for the shell's completion, of a line that is not all there
            ctx.meta[_MODEL] = next((word for word in words if word in MODELS), None)
            return super().parse_args(ctx, args)
        check_known(flags, known)
        help_wanted = not set(help_flag.opts).isdisjoint(flags)
        if words:
            _check_model(words, self.name)
            ctx.meta[_MODEL] = words[0]
            check_own(flags, words[0], own)
        elif not help_wanted:
            check_own(flags, None, own)
        return super().parse_args(ctx, ["--help"] if help_wanted else args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own flags, and those of the model if there is one."""
        model = ctx.meta.get(_MODEL)
        own = ctx.meta.setdefault(f"{_MODEL}.{model}", model_flags(model) if model else ())  # the same ones each time
        return [*super().get_params(ctx), *own]

    def asked(self, ctx: click.Context) -> Asked:
        """What was asked, once the command line is parsed."""
        params = {param.opts[0]: isinstance(param, ModelFlag) for param in self.get_params(ctx)}
        given = given_flags(ctx)
        model = ctx.meta.get(_MODEL)
        values = {name: value for name, value in ctx.params.items() if not name.startswith("model_flag_")}
        if model is not None and is_model_file(model) and "--batch-size" not in given:
            from flexnet.model.graph_file import read_graph

            values["batch_size"] = read_graph(model)[0].batch_size
        return Asked(
            model,
            values,
            {name: text for name, text in given.items() if not params[name]},
            {name: text for name, text in given.items() if params[name]},
        )

    def parse(self, words: list[str]) -> Asked:
        """What a command line of this command asks, without running it."""
        with self.make_context(self.name, list(words)) as ctx:
            return self.asked(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Flags of the command, then those of the model."""
        for title, wanted in (("flags", False), (f"flags of {ctx.meta.get(_MODEL)}", True)):
            params = [param for param in self.get_params(ctx) if isinstance(param, ModelFlag) is wanted]
            records = [param.get_help_record(ctx) for param in params if isinstance(param, click.Option)]
            if any(records):
                with formatter.section(title):
                    formatter.write_dl([record for record in records if record is not None])

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What the command does, and what is special about the model."""
        super().format_help_text(ctx, formatter)
        model = ctx.meta.get(_MODEL)
        if model:
            formatter.write_paragraph()
            spec = find_model(model)
            whose = "the original's " if spec.program else ""
            formatter.write_text(f"{model} is {whose}{spec.summary}.")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The models there are."""
        if not ctx.meta.get(_MODEL):
            formatter.write_paragraph()
            formatter.write_text(
                f"models: {', '.join(MODELS)}; flexnet {self.name} MODEL --help tells a model's own flags"
            )


def _words_and_flags(known: Sequence[click.Parameter], args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Words that belong to no flag, and flags without their values, in the order of the command line."""
    takes_value = {name: not flag.is_flag for flag in known if isinstance(flag, click.Option) for name in flag.opts}
    words, flags = list[str](), list[str]()
    rest = deque(args)
    while rest:
        word = rest.popleft()
        if not is_flag(word):
            words.append(word)
            continue
        name = word.partition("=")[0]
        if not name.startswith("--") and name[:2] in takes_value:  # its value, if any, may stand right behind it
            name = name[:2]
        flags.append(name)
        if word == name and takes_value.get(name) and rest and not is_flag(rest[0]):
            rest.popleft()
    return words, flags


def _check_model(words: list[str], command: str | None) -> None:
    _ = find_model(words[0])  # an unknown name is refused
    if len(words) > 1:
        raise FlexNetError(
            f"unexpected argument {words[1]!r} after {words[0]}; flexnet {command} takes one model and flags"
        )


def model_argument() -> click.Argument:
    """The argument MODEL; there may be several words, to be refused by name."""
    return click.Argument(["words"], nargs=-1, metavar="MODEL", required=False, shell_complete=_NAMES.shell_complete)
