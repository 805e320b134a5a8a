"""Which link model plans are priced with."""

from flexnet.plan.semantics import Semantics
from flexnet.simulate.fair import FairLinks
from flexnet.simulate.fifo import FifoLinks
from flexnet.simulate.link_model import LinkModel

__all__ = ["priced_links"]


def priced_links(semantics: Semantics, segment_bytes: int) -> LinkModel:
    """The link model of a semantics, at full resolution; ``segment_bytes`` is for first in, first out, 0 for whole."""
    return FairLinks() if semantics.fair_links else FifoLinks(semantics, segment_bytes)
