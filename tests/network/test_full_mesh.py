import pytest

from flexnet.errors import FlexNetError
from flexnet.network.topologies.full_mesh import full_mesh


@pytest.mark.parametrize("n", [1, 2, 16])
def test_every_pair_has_one_link(n):
    topology = full_mesh(n)
    topology.check(n - 1)
    assert topology.links.sum() == n * (n - 1)


def test_no_servers_are_refused():
    with pytest.raises(FlexNetError, match="a full mesh of 0 servers"):
        full_mesh(0)
