"""The contract of an output format."""

from abc import ABC, abstractmethod
from pathlib import Path

from flexnet.search.plan import Plan

__all__ = ["Output"]


class Output(ABC):
    """A format plans are written in.  A new one is a subclass in a file of its own and a line in `OUTPUTS`."""

    @abstractmethod
    def write(self, plan: Plan, path: Path) -> tuple[str, ...]:
        """Write a plan; the file is there whole or not at all.

        Parameters
        ----------
        plan : Plan
        path : Path
            An existing file is replaced.

        Returns
        -------
        tuple of str
            Sentences on what the file does not say as it was meant; empty if nothing.

        Raises
        ------
        FlexNetError
            If the file cannot be written.
        """
