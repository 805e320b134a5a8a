"""What a user who got something wrong is told: the one exception, and how its sentences are worded."""

import difflib
from collections.abc import Iterable, Sequence

__all__ = ["FlexNetError", "counted", "did_you_mean", "one_of"]


class FlexNetError(ValueError):
    """Bad input: one sentence that says what is wrong, where, and what would be right.

    The command line prints the sentence and exits with status 2.
    """


_CLOSE = 0.65  # of difflib's ratio: --batch is --batch-size, and bogus is not gpu


def did_you_mean(word: str, names: Iterable[str], close: float = _CLOSE) -> str | None:
    """Ask whether the name that ``word`` resembles most was meant; None if it resembles none.

    Dashes in front do not count: those of a flag would make all flags alike.  ``close`` is the least resemblance, as
    difflib's ratio.

    >>> did_you_mean("fat-tree", ("topoopt", "fattree")), did_you_mean("--bogus", ("--gpu", "--budget"))
    ('did you mean fattree?', None)
    """
    bare = {name.lstrip("-"): name for name in names}
    found = difflib.get_close_matches(word.lstrip("-").lower(), bare, 1, close)
    return f"did you mean {bare[found[0]]}?" if found else None


def one_of(names: Sequence[str]) -> str:
    """Names to choose from.

    >>> one_of(("a", "b", "c")), one_of(["a"])
    ('a, b or c', 'a')
    """
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def counted(n: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "server"), counted(16, "server"), counted(2, "switch")
    ('1 server', '16 servers', '2 switches')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}{'es' if noun.endswith('ch') else 's'}"
