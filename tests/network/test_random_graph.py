import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnet.errors import FlexNetError
from flexnet.network.topologies.random_graph import random_graph


@given(n=st.integers(1, 40), degree=st.integers(2, 9), seed=st.integers(0, 99))
def test_connected_within_degree_and_one_server_at_most_not_full(n, degree, seed):
    topology = random_graph(n, degree, np.random.default_rng(seed))
    topology.check(degree)
    if n > 1:
        assert (topology.links.sum(axis=1) < degree).sum() <= 1
    again = random_graph(n, degree, np.random.default_rng(seed))
    assert (topology.links == again.links).all()


def test_two_servers_use_all_their_interfaces():
    assert random_graph(2, 4, np.random.default_rng(0)).links.tolist() == [[0, 4], [4, 0]]
    assert random_graph(2, 1, np.random.default_rng(0)).links.tolist() == [[0, 1], [1, 0]]


def test_too_few_interfaces_are_refused():
    with pytest.raises(FlexNetError, match="degree 1 cannot connect 3 servers; a random graph needs at least 2"):
        random_graph(3, 1, np.random.default_rng(0))
    with pytest.raises(FlexNetError, match="degree 0 cannot connect 2 servers"):
        random_graph(2, 0, np.random.default_rng(0))
    with pytest.raises(FlexNetError, match="a random graph of 0 servers"):
        random_graph(0, 4, np.random.default_rng(0))
