"""Bounds that are proven beside a search."""

import threading

import pytest

from flexnet.cost.roofline import roofline_table
from flexnet.interrupts import GivenUp, give_up, undisturbed
from flexnet.model.zoo import MODELS
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.search.bounding import Bounding
from flexnet.search.prepare import prepare
from flexnet.search.prepared import Prepared
from flexnet.search.settings import Settings

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(not Bounding.possible(), reason="processes cannot be forked here"),
]


def ready(model: str, n_server: int) -> Prepared:
    graph = MODELS[model].build({}, batch_size=64 * n_server)
    table = roofline_table(graph, "a100", n_server=n_server, big_gpu=0)
    problem = make_problem(graph, table, Cluster(n_server, link_bandwidth=1e9), CORRECTED)
    return prepare(problem, Settings("fattree", 0, start="data"))


def test_what_is_waited_for_is_what_would_be_proven_here() -> None:
    search = ready("alexnet", 4)
    beside = Bounding(search)
    try:
        waited, here = beside.wait(), search.bound()
        assert waited is not None and here is not None
        assert (waited.seconds, waited.binding) == (here.seconds, here.binding)
        assert beside.poll() is waited
    finally:
        beside.stop()


def test_nobody_waits_for_what_is_given_up() -> None:
    beside = Bounding(ready("resnet", 16))
    try:
        threading.Timer(0.3, give_up).start()
        with pytest.raises(GivenUp):
            beside.wait()
        with undisturbed():
            assert beside.poll() is None
    finally:
        beside.stop()
