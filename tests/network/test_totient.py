import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnet.network.totient import group_sizes, ring_links_matrix, select_jumps, totient_jumps


def test_jumps_of_groups():
    assert totient_jumps(8, 8) == (1, 3, 5, 7)
    assert totient_jumps(8, 4) == (2, 6)
    assert totient_jumps(8, 2) == (4,)
    assert totient_jumps(12, 12) == (1, 5, 7, 11)
    assert totient_jumps(8, 2, fold=True) == (4,)
    assert totient_jumps(2, 2) == (1,)
    assert totient_jumps(3, 3, fold=True) == (1,)


@pytest.mark.parametrize(
    ("n", "size", "n_jump", "jumps"),
    [
        (16, 16, 2, (1, 5)),
        (16, 16, 4, (1, 3, 5, 9)),
        (32, 32, 2, (1, 7)),
        (128, 128, 2, (1, 13)),
        (128, 128, 3, (1, 7, 27)),
        (128, 128, 4, (1, 5, 13, 39)),
        (128, 64, 3, (2, 10, 34)),
        (8, 8, 2, (1, 3)),
        (12, 12, 2, (1, 5)),
        (16, 16, 1, (1,)),
        (16, 2, 1, (8,)),
    ],
)
def test_published_selections(n, size, n_jump, jumps):
    assert select_jumps(n, size, n_jump) == jumps


def test_too_few_jumps_repeat():
    assert select_jumps(16, 2, 3) == (8, 8, 8)
    assert select_jumps(4, 4, 4) == (1, 1, 3, 3)
    assert select_jumps(8, 8, 4, fold=True) == (1, 1, 3, 3)


def test_folded_selections_are_the_same_rings_where_no_ring_repeats():
    assert select_jumps(16, 16, 4, fold=True) == (1, 3, 5, 7)  # 9 is 7 backwards
    assert select_jumps(128, 128, 4, fold=True) == (1, 5, 13, 39)


@given(n=st.integers(2, 80), n_jump=st.integers(1, 8), fold=st.booleans(), data=st.data())
def test_every_jump_leads_once_around_its_group(n, n_jump, fold, data):
    size = data.draw(st.sampled_from(group_sizes(n)))
    jumps = select_jumps(n, size, n_jump, fold=fold)
    assert len(jumps) == n_jump
    for jump in jumps:
        assert sorted(k * jump % n for k in range(size)) == list(range(0, n, n // size))
    links = ring_links_matrix(n, jumps)
    assert (links == links.T).all()
    assert (links.sum(axis=1) == 2 * n_jump).all()
    assert not np.diagonal(links).any()
    counts = [jumps.count(jump) + (fold and jumps.count(n - jump)) for jump in totient_jumps(n, size, fold=fold)]
    if not any(2 * jump == n for jump in jumps):
        assert max(counts) - min(counts) <= 1
