"""What is said of flags that are wrong: unknown, of the original programs alone, of another model, without a value."""

import click

from flexnet.commands.requests.model_flags import model_flags
from flexnet.commands.requests.no_effect import NO_EFFECT
from flexnet.errors import FlexNetError, did_you_mean
from flexnet.model.zoo import MODELS

__all__ = ["sentence_of", "unknown_flag"]


def sentence_of(error: click.ClickException) -> str:
    """What click found wrong with a command line, in one sentence of ours."""
    if isinstance(error, click.NoSuchOption):
        name = error.option_name.split("=")[0]
        known = error.ctx.command.get_params(error.ctx) if error.ctx is not None else ()
        hint = did_you_mean(name, [text for param in known for text in param.opts if text.startswith("--")])
        return f"unknown flag {name}; {hint or '--help lists the flags'}"
    if isinstance(error, click.BadOptionUsage):
        name = error.option_name
        if error.ctx is not None:
            name = next((p.opts[0] for p in error.ctx.command.get_params(error.ctx) if name in p.opts), name)
        return f"{name} takes no value" if "not take" in error.message else f"{name} needs a value"
    return error.format_message()


def unknown_flag(error: click.NoSuchOption, words: list[str], model: str | None) -> FlexNetError:
    """What there is to say of a flag that is none of a command and its model: whose it may be instead.

    Parameters
    ----------
    error : click.NoSuchOption
    words : list of str
        The command line behind the command.
    model : str or None
        Name of the model, if one was given.
    """
    name = error.option_name.split("=")[0]
    if not name.startswith("--"):  # click takes a word with one dash for several flags of a letter each
        name = next((word for word in words if word.startswith(name)), name)
    if name in NO_EFFECT:
        return FlexNetError(f"{name} has no effect; only the original command lines (flexnet dlrmsim ...) take it")
    if not name.startswith("--"):
        return FlexNetError(f"unknown flag {name}; --help lists the flags")
    owners = [other for other in MODELS if any(name in option.opts for option in model_flags(other))]
    if model is None or not owners:
        return FlexNetError(sentence_of(error))
    own = ", ".join(option.opts[0] for option in model_flags(model)) or "no flags of its own"
    return FlexNetError(f"{name} is a flag of model {', '.join(owners)}; {model} has {own}")
