"""Prices of strategies on networks, remembered for as long as the network is there."""

from hashlib import blake2b
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from flexnet.network.network import Network
from flexnet.plan.strategy import Strategy

__all__ = ["Priced", "Remembered"]

MOST = 4096  # strategies on one network; with more all of them are forgotten


class Priced(NamedTuple):
    """Seconds of an iteration, and whether they are ``exact`` or it takes longer."""

    seconds: float
    exact: bool


class Remembered:
    """What strategies took on networks.

    A chain of proposals comes back to the same few hundred neighbours of its current plan again and again.
    """

    def __init__(self) -> None:
        self._of_network: WeakKeyDictionary[Network, dict[bytes, Priced]] = WeakKeyDictionary()

    def find(self, network: Network, key: bytes, limit: float) -> Priced | None:
        """What is known, if that tells whether the strategy takes more than ``limit`` seconds."""
        known = self._of_network.get(network)
        priced = None if known is None else known.get(key)
        return priced if priced is not None and (priced.exact or priced.seconds > limit) else None

    def keep(self, network: Network, key: bytes, priced: Priced) -> None:
        """Remember a price; it takes the place of one that is less known."""
        known = self._of_network.setdefault(network, {})
        if len(known) >= MOST:
            known.clear()
        known[key] = priced

    def forget(self) -> None:
        """Know nothing any more."""
        self._of_network.clear()

    @staticmethod
    def key_of(strategy: Strategy) -> bytes:
        """Sixteen bytes that no two strategies of one problem share, but by a chance of 2^-128."""
        servers = strategy.devices.astype(np.int16)  # of which there are 4096 at most
        told = strategy.choice.tobytes() + servers.tobytes() + strategy.after.tobytes()
        return blake2b(told, digest_size=16).digest()
