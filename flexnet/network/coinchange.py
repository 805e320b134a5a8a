"""Coin change: walking the jumps of regular rings to reach any server (TopoOpt CoinChangeMod; network.cc:2204)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.network.kernels import routes as kernels
from flexnet.network.totient import totient_jumps

__all__ = ["CoinTable", "coin_path", "coin_rings", "coin_table"]


class CoinTable(NamedTuple):
    """Fewest coins for every residue: ``n_coin`` int32 (n_server,), and ``last``, the coin to take first."""

    n_coin: npt.NDArray[np.int32]
    last: npt.NDArray[np.int32]


def coin_table(n_server: int, coins: Sequence[int], rng: np.random.Generator) -> CoinTable:
    """Fewest coins that sum to every residue mod ``n_server``; on equal counts a later coin wins with probability 0.5.

    Parameters
    ----------
    n_server : int
    coins : sequence of int
        Jumps that have links, 1..n_server-1.
    rng : numpy.random.Generator

    Returns
    -------
    CoinTable

    Raises
    ------
    FlexNetError
        If the coins do not reach every server.
    """
    table = _table(n_server, coins, rng)
    if table.n_coin.min() < 0:
        raise FlexNetError(
            f"jumps {sorted(coins)} do not lead from server 0 to server {np.argmin(table.n_coin)} of {n_server}; the "
            "jumps of rings must connect all servers"
        )
    return table


def coin_path(table: CoinTable, jump: int) -> tuple[int, ...]:
    """Coins that sum to ``jump`` (1..n_server-1) mod ``n_server``, in the order they are peeled off."""
    n = len(table.last)
    path = []
    while jump:
        coin = int(table.last[jump])
        path.append(coin)
        jump = (jump - coin) % n
    return tuple(path)


def coin_rings(
    table: CoinTable, size: int, coins: Sequence[int], rng: np.random.Generator, *, spread: bool
) -> tuple[tuple[int, ...], ...]:
    """Rings over groups of ``size`` along links that were laid for other groups, each followed by its reverse.

    Parameters
    ----------
    table : CoinTable
        Of all ``coins``.
    size : int
        Group size; divides the number of servers.
    coins : sequence of int
        Jumps that have links; with every jump its reverse.
    rng : numpy.random.Generator
        Used only to spread.
    spread : bool
        The original takes one ring, by the first jump that needs fewest coins.  If True, more rings as short are added
        as long as some can be walked with coins that no earlier ring of the group uses.

    Returns
    -------
    tuple of tuple of int
    """
    n = len(table.last)
    jumps = totient_jumps(n, size)
    best = min(jumps, key=lambda jump: table.n_coin[jump])
    fewest = table.n_coin[best]
    rings: list[tuple[int, ...]] = []
    left = tuple(coins)
    while True:
        path = coin_path(table, best)
        reverse = tuple(n - hop for hop in path)
        rings += [path, reverse]
        left = tuple(coin for coin in left if coin not in path and coin not in reverse)
        if not spread or not left:
            return tuple(rings)
        table = _table(n, left, rng)
        equals = [jump for jump in jumps if table.n_coin[jump] == fewest]
        if not equals:
            return tuple(rings)
        best = equals[0]


def _table(n_server: int, coins: Sequence[int], rng: np.random.Generator) -> CoinTable:
    seed = int(rng.integers(1, 1 << 32))
    return CoinTable(*kernels.coin_table(n_server, np.array(coins, np.int64), seed))
