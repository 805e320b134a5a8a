"""How ``--model`` scales a graph: every width by the same factor."""

from dataclasses import dataclass

__all__ = ["BASE", "Scale"]

BASE = 128  # PaSE's default of -m, which it parses and ignores; here it is the published size


@dataclass(frozen=True, slots=True)
class Scale:
    """Model size: channels, hidden units and embedding widths are ``model / 128`` times the published ones.

    What the data fixes stays: image sizes, classes, vocabularies and sequence lengths.
    """

    model: int

    def width(self, published: int) -> int:
        """A scaled width, rounded down, at least 1.

        >>> Scale(128).width(96), Scale(256).width(96), Scale(1).width(96)
        (96, 192, 1)
        """
        return max(published * self.model // BASE, 1)
