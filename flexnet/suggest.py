"""The name a misspelt one was meant to be."""

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean"]

_CLOSE = 0.65  # of difflib's ratio: --batch is --batch-size, and bogus is not gpu


def did_you_mean(word: str, names: Iterable[str]) -> str | None:
    """Ask whether the name that ``word`` resembles most was meant; None if it resembles none.

    Dashes in front do not count: those of a flag would make all flags alike.

    >>> did_you_mean("fat-tree", ("topoopt", "fattree")), did_you_mean("--bogus", ("--gpu", "--budget"))
    ('did you mean fattree?', None)
    """
    bare = {name.lstrip("-"): name for name in names}
    close = difflib.get_close_matches(word.lstrip("-").lower(), bare, 1, _CLOSE)
    return f"did you mean {bare[close[0]]}?" if close else None
