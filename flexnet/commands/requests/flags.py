"""Flags of the command line, on click.

A flag remembers what was typed for it, for `run.json` and for ``--resume``, and refuses to be given twice with two
values.  Nothing heavy is imported, so help and errors come at once.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from flexnet.commands.console.printing import say
from flexnet.errors import FlexNetError

__all__ = ["Command", "Flag", "Given", "Helpful", "given_flags", "is_flag", "only_word", "switch"]

Given = Mapping[str, str]
"""What was given: the flag's first spelling to its value as text; ``""`` for a switch."""

_NEGATIVE_NUMBER = re.compile(r"-[0-9.]")
_SHORT_WITH_VALUE = re.compile(r"\A(?P<flag>-[A-Za-z])=(?P<value>.*)", re.DOTALL)
_GIVEN = "flexnet.given"


class Flag(click.Option):
    """An option that notes what was typed; its value is ``default``, as it stands, where nothing was.

    Parameters
    ----------
    spellings : sequence of str
        The name of the parameter, then all spellings; errors and `Given` use the first of these.
    default : object
        Told by the help text, not by click.
    help : str
        May hold ``{names}``, for those the flag's type knows when help is asked for.
    is_list : bool
        Its value is a list joined by commas; given several times, it is all of them.
    """

    def __init__(
        self, spellings: Iterable[str], *, default: Any = None, is_list: bool = False, **attributes: Any
    ) -> None:
        if not attributes.get("is_flag"):
            attributes["multiple"] = True  # so that a second value is seen
        super().__init__(tuple(spellings), **attributes)
        self.standard = default
        self.is_list = is_list

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """The value as the flag's type, or the default."""
        if ctx.get_parameter_source(self.name or "") is not click.core.ParameterSource.COMMANDLINE:
            return super().process_value(ctx, value) if self.is_flag else self.standard
        if self.is_flag:
            given_flags(ctx)[self.opts[0]] = ""
            return super().process_value(ctx, value)
        texts = tuple(dict.fromkeys(value))
        for text in texts:
            if is_flag(text):
                raise FlexNetError(f"{self.opts[0]} needs a value")
        if self.is_list:
            texts = (",".join(texts),)
        if len(texts) > 1:
            raise FlexNetError(f'{self.opts[0]} is given twice, as "{texts[0]}" and as "{texts[1]}"; give it once')
        given_flags(ctx)[self.opts[0]] = texts[0]
        (converted,) = super().process_value(ctx, texts)
        return converted

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Spellings and help text."""
        record = super().get_help_record(ctx)
        return record and (record[0], record[1].replace("{names}", ", ".join(getattr(self.type, "names", ()))))

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Nothing: what a value may be is in the help text, and in the sentence on a wrong one."""
        return {}


def is_flag(word: str) -> bool:
    """Whether a word of a command line is a flag, and so nobody's value: it begins with a dash and is no number."""
    return word.startswith("-") and not _NEGATIVE_NUMBER.match(word)


def given_flags(ctx: click.Context) -> dict[str, str]:
    """What was given to the command of a context so far, in the order of the command line."""
    found: dict[str, str] = ctx.meta.setdefault(_GIVEN, {})
    return found


def switch(name: str, spelling: str, help: str) -> Flag:
    """A flag without a value."""
    return Flag([name, spelling], is_flag=True, help=help)


class Helpful(click.Command):
    """A command whose help is printed as everything else is: a full disk behind it is an error."""

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """The flag ``--help``, ``-h``."""

        def show(ctx: click.Context, param: click.Parameter, value: bool) -> None:
            if value and not ctx.resilient_parsing:
                say(ctx.get_help())
                ctx.exit()

        names, text = ["--help", "-h"], "Show this help."
        return click.Option(names, is_flag=True, is_eager=True, expose_value=False, callback=show, help=text)


class Command(Helpful):
    """A command that calls its options flags; ``-o=DIR`` is ``-o DIR``, as ``--output=DIR`` is ``--output DIR``."""

    def __init__(self, *arguments: Any, **attributes: Any) -> None:
        attributes.setdefault("options_metavar", "[flags]")
        attributes.setdefault("context_settings", {"max_content_width": 120})
        super().__init__(*arguments, **attributes)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, with what stands behind the equals sign of a short flag as its value.

        Raises
        ------
        FlexNetError
            If nothing does.
        """
        return super().parse_args(ctx, [_SHORT_WITH_VALUE.sub(_joined, word) for word in args])


def _joined(match: re.Match[str]) -> str:
    if not match["value"]:
        raise FlexNetError(f"{match['flag']} needs a value")
    return f"{match['flag']}{match['value']}"


def only_word(words: Sequence[str], command: str, what: str, usage: str) -> str:
    """The argument of a command that takes exactly one, ``what``.

    Raises
    ------
    FlexNetError
        If there is none, with the ``usage``, or one too many.
    """
    if not words:
        raise FlexNetError(usage)
    if len(words) > 1:
        raise FlexNetError(f"unexpected argument {words[1]!r}; flexnet {command} takes one {what}")
    return words[0]
