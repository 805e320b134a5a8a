"""``flexnet models``: the models, their flags and defaults."""

import click

from flexnet.commands.console.printing import say
from flexnet.commands.requests.flags import Command
from flexnet.errors import FlexNetError
from flexnet.model.zoo import MODELS

__all__ = ["models"]


def _models(words: tuple[str, ...]) -> int:
    if words:
        raise FlexNetError(f"unexpected argument {words[0]!r}; flexnet models takes none")
    for spec in MODELS.values():
        say(f"{spec.name:<13} {spec.summary}" + (f" (the original's {spec.program})" if spec.program else ""))
        for flag in spec.flags:
            note = flag.help if flag.effective else f"no effect: {flag.help}"
            say(f"  {flag.name:<28} {flag.default_text:<16} {note}")
    return 0


models = Command(
    "models",
    params=[click.Argument(["words"], nargs=-1, metavar="", required=False)],
    callback=_models,
    help="Lists the models, their flags and defaults.",
)
