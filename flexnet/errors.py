"""The one exception flexnet raises for what a user got wrong."""

__all__ = ["FlexNetError"]


class FlexNetError(ValueError):
    """Bad input: one sentence that says what is wrong, where, and what would be right.

    The command line prints the sentence and exits with status 2.
    """
