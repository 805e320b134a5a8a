"""Strategies as arrays and as configs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import mlp, problem_of, random_configs, random_problem, waiting

from flexnet.errors import FlexNetError
from flexnet.plan.cluster import Cluster
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config, configs_of, make_strategy


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_configs_come_back_as_they_were(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, CORRECTED)
    configs = waiting(rng, problem, random_configs(rng, problem))
    strategy = make_strategy(problem, configs)
    assert configs_of(problem, strategy) == configs
    assert strategy.devices.shape == (len(configs), problem.cluster.n_server)
    assert [(row >= 0).sum() for row in strategy.devices] == [len(config.devices) for config in configs]


def test_lists_will_do():
    problem = problem_of(mlp(2), Cluster(4), CORRECTED)
    with_lists = make_strategy(problem, [Config([1, 2], [0, 3]), Config((1, 1), (np.int64(2),))])
    assert configs_of(problem, with_lists) == [Config((1, 2), (0, 3)), Config((1, 1), (2,))]


WHOLE = Config((1, 1), (2,))
LATE = Config((1, 1), (2,), "Dense_101")


@pytest.mark.parametrize(
    ("configs", "sentence"),
    [
        ([WHOLE], "the strategy has 1 operators; model mlp has 2"),
        ([WHOLE] * 3, "the strategy has 3 operators; model mlp has 2"),
        ([WHOLE, LATE], "operator Dense_101 is reduced after itself; name another, or none"),
        ([LATE._replace(after="x"), WHOLE], "operator Dense_100 is reduced after 'x', which model mlp does not have"),
        ([WHOLE, Config((1, 2), (0,))], "operator Dense_101 is cut into 2 parts but has 1 devices"),
        ([WHOLE, Config((1, 1), (1.7,))], "operator Dense_101 is placed on server 1.7; servers are whole numbers"),
        ([WHOLE, Config((1, 1), (True,))], "operator Dense_101 is placed on server True; servers are whole numbers"),
        ([WHOLE, Config((1, 2), (0, 4))], "operator Dense_101 is placed on server 4; servers are 0 to 3"),
        ([Config((1, 1), (-1,)), WHOLE], "operator Dense_100 is placed on server -1; servers are 0 to 3"),
        ([WHOLE, Config((1, 2), (3, 3))], r"operator Dense_101 has two parts on one server: \[3, 3\]"),
        ([Config((1, 3), (0, 1, 2)), WHOLE], r"m\.json has no measurement of \S+ with config 2-1-3; it has .*"),
    ],
)
def test_what_is_no_strategy_is_refused(configs, sentence):
    with pytest.raises(FlexNetError, match=f"^{sentence}$"):
        make_strategy(problem_of(mlp(2), Cluster(4)), configs)
