"""Moves: how one strategy is made of another.

Contract: `move`; every move is a file of its own and a line below.  What comes in is what moves need to know of a
problem (`space`), a generator of random numbers and a strategy; what goes out is a new strategy, the old one being left
as it is.  `mix` draws which move is made.  May import `plan` and what lies below it.
"""

from typing import TYPE_CHECKING

from flexnet.registry import Registry

if TYPE_CHECKING:
    from flexnet.search.moves.move import Move

__all__ = ["MOVES"]

MOVES: "Registry[type[Move]]" = Registry(
    "move",
    {
        "reconfigure": "flexnet.search.moves.reconfigure:Reconfigure",
        "propagate": "flexnet.search.moves.propagate:Propagate",
        "recut": "flexnet.search.moves.recut:Recut",
        "shift": "flexnet.search.moves.shift:Shift",
        "swap": "flexnet.search.moves.swap:Swap",
        "border": "flexnet.search.moves.border:Border",
        "deal": "flexnet.search.moves.deal:Deal",
        "repeat": "flexnet.search.moves.repeat:Repeat",
        "hold": "flexnet.search.moves.hold:Hold",
    },
)
"""Moves by the name that `Settings.moves` takes."""
