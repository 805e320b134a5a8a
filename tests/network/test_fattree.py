import pytest

from flexnet.errors import FlexNetError
from flexnet.network.topologies.fattree import fat_tree


@pytest.mark.parametrize("n", [1, 2, 16])
def test_every_server_has_one_link_to_the_switch(n):
    topology = fat_tree(n)
    topology.check(1)
    assert topology.n_switch == 1
    assert (topology.links[:n, n] == 1).all()
    assert topology.links.sum() == 2 * n
    assert not topology.rings


def test_no_servers_are_refused():
    with pytest.raises(FlexNetError, match="a fat-tree of 0 servers"):
        fat_tree(0)
