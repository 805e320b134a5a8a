"""What is said of flags that are wrong: unknown, of the original programs alone, of another model, without a value."""

from collections.abc import Iterable

import click

from flexnet.commands.requests.model_flags import model_flags
from flexnet.commands.requests.original_programs import NO_EFFECT
from flexnet.errors import FlexNetError, did_you_mean
from flexnet.model.zoo import MODELS

__all__ = ["check_known", "check_own", "sentence_of"]


def sentence_of(error: click.ClickException) -> str:
    """What click found wrong with a command line, in one sentence of ours."""
    if isinstance(error, click.NoSuchOption):
        known = error.ctx.command.get_params(error.ctx) if error.ctx is not None else ()
        return _unknown(error.option_name.split("=")[0], [text for param in known for text in param.opts])
    if isinstance(error, click.BadOptionUsage):
        name = error.option_name
        if error.ctx is not None:
            name = next((p.opts[0] for p in error.ctx.command.get_params(error.ctx) if name in p.opts), name)
        return f"{name} takes no value" if "not take" in error.message else f"{name} needs a value"
    return error.format_message()


def check_known(flags: Iterable[str], known: Iterable[click.Parameter]) -> None:
    """Refuse a flag that is no command's and no model's.

    Parameters
    ----------
    flags : iterable of str
        As typed, without values.
    known : iterable of click.Parameter
        All there are, of whatever model.

    Raises
    ------
    FlexNetError
        With the flag that may have been meant.
    """
    spellings = [name for flag in known for name in flag.opts]
    for name in flags:
        if name in spellings:
            continue
        if name in NO_EFFECT:
            raise FlexNetError(f"{name} has no effect; only the original command lines (flexnet dlrmsim ...) take it")
        raise FlexNetError(_unknown(name, spellings))


def check_own(flags: Iterable[str], model: str | None, command: Iterable[click.Parameter]) -> None:
    """Refuse a flag of another model, or of any if none is given.

    Parameters
    ----------
    flags : iterable of str
        As typed, without values.
    model : str or None
        Name of the model, if one was given.
    command : iterable of click.Parameter
        The command's own.

    Raises
    ------
    FlexNetError
        With the models that have the flag, and the flags of this one.
    """
    own = model_flags(model) if model is not None else []
    spellings = {name for flag in (*command, *own) for name in flag.opts}
    for name in flags:
        if name in spellings:
            continue
        if model is None:
            raise FlexNetError(f"{name} is a flag of a model, but no model is given; name one of {', '.join(MODELS)}")
        owners = [other for other in MODELS if any(name in flag.opts for flag in model_flags(other))]
        allowed = ", ".join(flag.opts[0] for flag in own) or "no flags of its own"
        raise FlexNetError(f"{name} is a flag of model {', '.join(owners)}; {model} has {allowed}")


def _unknown(name: str, spellings: Iterable[str]) -> str:
    hint = did_you_mean(name, [text for text in spellings if text.startswith("--")])
    return f"unknown flag {name}; {hint or '--help lists the flags'}"
