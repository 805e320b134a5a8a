"""Plans that are changed by hand and priced again, on the same network and on others."""

import json

import numpy as np
import pytest
from random_models import problem_of, tower

from flexnet import (
    CORRECTED,
    ORIGINAL,
    Cluster,
    Config,
    FlexNetError,
    Settings,
    Topology,
    build_network,
    find_plan,
    price,
    replay,
)
from flexnet.units import ms_text

SERVERS = tuple(range(4))


def found(semantics=CORRECTED, topology="topoopt"):
    problem = problem_of(tower(), Cluster(4, link_bandwidth=2e6, degree=2), semantics)
    return find_plan(problem, Settings(topology, budget=80, method="mcmc", seed=5, propagation=True))


@pytest.mark.parametrize("topology", ["topoopt", "fattree", "random"])
@pytest.mark.parametrize("semantics", [CORRECTED, ORIGINAL], ids=lambda item: item.name)
def test_the_same_plan_has_the_same_price(semantics, topology):
    plan = found(semantics, topology).plan
    for strategy in (plan.strategy, plan.configs, list(plan.configs.values())):
        again = price(plan.problem, strategy, plan.network, directions=plan.directions)
        assert again.seconds == plan.seconds
        assert again.network is plan.network
        assert again.configs == plan.configs


def test_one_operator_is_changed_on_the_same_network():
    plan = found().plan
    name = next(iter(plan.configs))
    rank = len(plan.configs[name].degrees)
    alone = Config((1,) * rank, (3,))
    mine = price(plan.problem, plan.with_config(name, alone), plan.network)
    assert mine.configs == {**plan.configs, name: alone}
    assert mine.network is plan.network
    assert mine.seconds != plan.seconds
    assert price(plan.problem, {**plan.configs, name: alone}, plan.network).seconds == mine.seconds
    back = price(plan.problem, mine.with_config(name, plan.configs[name]), plan.network)
    assert back.seconds == plan.seconds


def test_it_is_replayed_elsewhere():
    plan = found().plan
    cluster = plan.problem.cluster
    slow = replay(plan.task_graph(), build_network("fattree", Cluster(4, link_bandwidth=1e5)))
    fast = replay(plan.task_graph(), build_network("fattree", cluster))
    assert slow.seconds > fast.seconds > 0
    drawn = build_network("fattree", cluster).to_networkx()
    again = replay(plan.task_graph(), build_network(Topology.from_networkx(drawn), cluster))
    assert again.seconds == pytest.approx(fast.seconds)
    with pytest.raises(FlexNetError, match="topoopt"):  # a family that follows demand needs to be told it
        build_network("topoopt", cluster)


@pytest.mark.parametrize(
    ("name", "config", "sentence"),
    [
        ("nothing", Config((1,), (0,)), r"^model tower has no operator nothing; see plan.configs$"),
        (None, Config((1, 3), (0, 1, 2)), r"has no measurement of .* with config .*3; it has"),
        (None, Config((1, 2), (0, 9)), "server"),
        (None, Config((1, 2), (1, 1)), "has two parts on one server"),
        (None, Config((1, 2), (1,)), "is cut into 2 parts but has 1 devices"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(name, config, sentence):
    plan = found().plan
    with pytest.raises(FlexNetError, match=sentence) as caught:
        plan.with_config(name or next(iter(plan.configs)), config)
    assert "\n" not in str(caught.value)


def test_networks_of_another_size_are_refused():
    plan = found().plan
    with pytest.raises(FlexNetError, match=r"^the network has 8 servers; the cluster has 4$"):
        price(plan.problem, plan.strategy, build_network("fattree", Cluster(8)))
    with pytest.raises(FlexNetError, match=r"^the task graph is of 4 servers and the network of 8$"):
        replay(plan.task_graph(), build_network("fattree", Cluster(8)))


def test_a_plan_tells_itself():
    plan = found().plan
    lines = plan.summary().splitlines()
    assert lines[0] == f"iteration  {ms_text(plan.seconds)}"
    assert [line.split()[0] for line in lines[4:]] == list(plan.configs)
    document = plan.to_dict()
    assert json.loads(json.dumps(document)).keys() == document.keys()
    assert document["iteration_ms"] == pytest.approx(plan.seconds * 1e3)
    assert list(document["configs"]) == list(plan.configs)
    assert sum(link[2] for link in document["links"]) == np.triu(plan.topology.links).sum()
