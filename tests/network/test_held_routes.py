"""What is done with all routes of a network at once, beside the same pair by pair."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flexnet.network.kernels.held_routes import kept, link_loads, over_any, replaced, senders

N_LINK = 5

routes = st.lists(st.lists(st.integers(0, N_LINK - 1), max_size=3), min_size=9, max_size=9)
volumes = st.lists(st.sampled_from([0.0, 1.5, 4.0]), min_size=9, max_size=9)
others = st.dictionaries(st.integers(0, 8), st.sampled_from([0.5, 2.0]), max_size=4)


def packed(paths):
    ptr = np.concatenate([[0], np.cumsum([len(path) for path in paths])]).astype(np.int32)
    return ptr, np.array([link for path in paths for link in path], np.int32)


def unpacked(ptr, route):
    return [route[first:last].tolist() for first, last in pairwise(ptr)]


@given(paths=routes, sent=volumes, others=others, least=st.integers(0, 3), more=st.integers(0, 3))
def test_loads_and_senders(paths, sent, others, least, more):
    pairs, theirs = np.array(sorted(others), np.int64), np.array([others[pair] for pair in sorted(others)])
    told = [others.get(pair, one) for pair, one in enumerate(sent)]
    loads = link_loads(*packed(paths), np.array(sent), pairs, theirs, N_LINK)
    expected = [sum(one * path.count(link) for one, path in zip(told, paths, strict=True)) for link in range(N_LINK)]
    assert loads.tolist() == expected
    found = senders(packed(paths)[0], np.array(sent), pairs, least, least + more)
    assert found.tolist() == [
        pair for pair, path in enumerate(paths) if told[pair] > 0 and least <= len(path) <= least + more
    ]


@given(paths=routes, by=st.dictionaries(st.integers(0, 8), st.lists(st.integers(0, N_LINK - 1), max_size=4)))
def test_some_routes_are_replaced(paths, by):
    pairs = np.array(sorted(by), np.int64)
    ptr, some = packed([by[pair] for pair in sorted(by)])
    begin, count = ptr[:-1].astype(np.int64), np.diff(ptr).astype(np.int64)
    found = replaced(*packed(paths), pairs, begin, count, some)
    assert unpacked(*found) == [by.get(pair, path) for pair, path in enumerate(paths)]


@given(paths=routes, data=st.data())
def test_routes_stay_that_are_wanted_there_and_as_short(paths, data):
    now = np.array(data.draw(st.lists(st.integers(-1, 9), min_size=N_LINK, max_size=N_LINK)), np.int32)
    hops = np.array(data.draw(st.lists(st.integers(0, 3), min_size=9, max_size=9)), np.int16)
    wanted = np.array(data.draw(st.lists(st.booleans(), min_size=9, max_size=9)))
    ptr, route, stays = kept(*packed(paths), now, hops.reshape(3, 3), wanted)
    fits = [
        wanted[pair] and len(path) == hops[pair] > 0 and all(now[link] >= 0 for link in path)
        for pair, path in enumerate(paths)
    ]
    assert stays.tolist() == fits
    assert unpacked(ptr, route) == [
        now[path].tolist() if fit and path else [] for fit, path in zip(fits, paths, strict=True)
    ]


@given(paths=routes, marked=st.sets(st.integers(0, N_LINK - 1)), pairs=st.sets(st.integers(0, 8)))
def test_pairs_over_marked_links(paths, marked, pairs):
    found = over_any(*packed(paths), np.isin(np.arange(N_LINK), list(marked)), np.array(sorted(pairs), np.int64))
    assert found.tolist() == [pair for pair in sorted(pairs) if marked & set(paths[pair])]
