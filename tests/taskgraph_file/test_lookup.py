"""Where ids of a file are, be they consecutive, as ours, or not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnet.taskgraph_file.check import lookup

ANY = st.integers(0, 2**64 - 1)


@pytest.mark.parametrize("consecutive", [True, False])
@given(data=st.data())
def test_ids_are_found_where_they_are(consecutive, data):
    if consecutive:
        first, n = data.draw(st.integers(0, 2**64 - 60)), data.draw(st.integers(1, 50))
        ids = list(range(first, first + n))
    else:
        ids = data.draw(st.lists(ANY, min_size=1, max_size=50, unique=True))
    near = [(one + step) % 2**64 for one in ids[:5] + ids[-5:] for step in (-1, 0, 1)]
    wanted = data.draw(st.lists(st.sampled_from([*ids, *near]) | ANY, max_size=30))
    at, found = lookup(np.array(ids, np.uint64), np.array(wanted, np.uint64))
    assert found.tolist() == [one in ids for one in wanted]
    assert [ids[k] for k, there in zip(at, found, strict=True) if there] == [one for one in wanted if one in ids]
