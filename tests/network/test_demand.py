import numpy as np
import pytest

from flexnet.errors import FlexNetError
from flexnet.network.demand import Demand


def test_a_legal_demand_is_kept():
    demand = Demand(2, np.zeros((2, 2)), {2: 5.0, 1: 3.0})
    assert demand.allreduce[2] == 5.0


@pytest.mark.parametrize(
    ("n", "pairs", "groups", "sentence"),
    [
        (0, np.zeros((0, 0)), {}, "a demand of 0 servers"),
        (2, np.zeros((3, 3)), {}, r"has shape \(3, 3\); expected is \(2, 2\)"),
        (2, np.full((2, 2), -1.0), {}, "negative or infinite"),
        (2, np.full((2, 2), np.inf), {}, "negative or infinite"),
        (2, np.full((2, 2), np.nan), {}, "negative or infinite"),
        (2, np.zeros((2, 2)), {3: 1.0}, "an all-reduce over 3 servers; group sizes are 1 to 2"),
        (2, np.zeros((2, 2)), {2: -1.0}, "all-reduces over 2 servers of -1.0 bytes"),
    ],
)
def test_impossible_demands_are_refused(n, pairs, groups, sentence):
    with pytest.raises(FlexNetError, match=sentence):
        Demand(n, pairs, groups)


@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        ({(0, 2): 1.0}, r"an all-reduce over servers \[0, 2\]; expected are 0 to 1, ascending"),
        ({(1, 0): 1.0}, "ascending"),
        ({(0, 0): 1.0}, "ascending"),
        ({(0, 1): np.inf}, "of inf bytes"),
    ],
)
def test_impossible_groups_are_refused(groups, sentence):
    with pytest.raises(FlexNetError, match=sentence):
        Demand(2, np.zeros((2, 2)), {}, groups)
