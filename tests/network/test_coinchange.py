import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnet.errors import FlexNetError
from flexnet.network.coinchange import coin_path, coin_rings, coin_table
from flexnet.network.totient import group_sizes, totient_jumps


def brute(n, coins):
    layers, known = [{0}], {0}
    while layers[-1]:
        layers.append({(r + c) % n for r in layers[-1] for c in coins} - known)
        known |= layers[-1]
    return {r: i for i, layer in enumerate(layers) for r in layer}


@given(n=st.integers(2, 60), data=st.data(), seed=st.integers(0, 50))
def test_paths_sum_up_with_fewest_coins(n, data, seed):
    jumps = data.draw(st.lists(st.integers(1, n - 1), max_size=4))
    coins = sorted({1, n - 1, *jumps, *(n - j for j in jumps)})
    table = coin_table(n, coins, np.random.default_rng(seed))
    fewest = brute(n, coins)
    for residue in range(1, n):
        path = coin_path(table, residue)
        assert sum(path) % n == residue
        assert len(path) == fewest[residue] == table.n_coin[residue]
        assert set(path) <= set(coins)
    again = coin_table(n, coins, np.random.default_rng(seed))
    assert (again.last == table.last).all()


@given(n=st.integers(2, 60), data=st.data(), spread=st.booleans())
def test_rings_close_over_their_groups(n, data, spread):
    jump = data.draw(st.integers(1, n - 1))
    coins = sorted({1, n - 1, jump, n - jump})
    rng = np.random.default_rng(0)
    table = coin_table(n, coins, rng)
    for size in group_sizes(n):
        rings = coin_rings(table, size, coins, rng, spread=spread)
        shortest = min(table.n_coin[j] for j in totient_jumps(n, size))
        assert all(len(ring) == shortest for ring in rings)
        for forward, backward in zip(rings[::2], rings[1::2], strict=True):
            assert backward == tuple(n - hop for hop in forward)
        for ring in rings:
            assert sorted(k * sum(ring) % n for k in range(size)) == list(range(0, n, n // size))
        assert spread or len(rings) == 2
        forward_coins = [{*ring, *(n - hop for hop in ring)} for ring in rings[::2]]
        assert sum(map(len, forward_coins)) == len(set().union(*forward_coins))


def test_rings_of_the_published_testbed_are_among_those_drawn():
    coins = [1, 5, 7, 11]
    drawn = {size: set() for size in (2, 3, 4, 6)}
    for seed in range(300):
        rng = np.random.default_rng(seed)
        table = coin_table(12, coins, rng)
        for size in drawn:
            drawn[size].add(frozenset(tuple(sorted(r)) for r in coin_rings(table, size, coins, rng, spread=False)))
    for size, ring in ((6, (1, 1)), (4, (5, 11, 11)), (3, (5, 11)), (2, (1, 5))):
        assert frozenset({ring, tuple(sorted(12 - hop for hop in ring))}) in drawn[size]
    lengths = {size: {len(ring) for rings in found for ring in rings} for size, found in drawn.items()}
    assert lengths == {6: {2}, 4: {3}, 3: {2}, 2: {2}}


def test_worked_example_of_eight_servers():
    coins = [1, 3, 5, 7]
    drawn = set()
    for seed in range(50):
        rng = np.random.default_rng(seed)
        table = coin_table(8, coins, rng)
        drawn.add(coin_path(table, 2))
        assert len(coin_rings(table, 2, coins, rng, spread=False)[0]) == 2
    assert {tuple(sorted(path)) for path in drawn} == {(1, 1), (3, 7), (5, 5)}


def test_spread_rings_use_all_jumps():
    rng = np.random.default_rng(0)
    coins = [1, 5, 11, 15]
    rings = coin_rings(coin_table(16, coins, rng), 8, coins, rng, spread=True)
    assert set(rings) == {(1, 1), (15, 15), (5, 5), (11, 11)}


def test_coins_that_do_not_reach_everyone_are_refused():
    with pytest.raises(FlexNetError, match=r"jumps \[2, 6\] do not lead from server 0 to server 1 of 8"):
        coin_table(8, [2, 6], np.random.default_rng(0))
