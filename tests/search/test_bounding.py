"""Bounds that are proven beside a search."""

import threading
import time
from collections.abc import Iterator

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


@pytest.fixture
def _going_on() -> Iterator[None]:
    """Other tests go on, whatever becomes of one that gives up."""
    yield
    with undisturbed():
        pass


@pytest.mark.usefixtures("_going_on")
def test_nobody_waits_for_what_is_given_up() -> None:
    beside, later = Bounding(ready("resnet", 16)), threading.Timer(0.3, give_up)
    try:
        later.start()
        with pytest.raises(GivenUp):
            beside.wait()
        with undisturbed():
            assert beside.poll() is None
    finally:
        later.join()
        beside.stop()


@pytest.mark.usefixtures("_going_on")
def test_a_process_that_gave_up_first_proved_nothing() -> None:
    beside = Bounding(ready("resnet", 16))
    try:
        give_up()
        while beside._process.is_alive():
            time.sleep(0.01)
        with pytest.raises(GivenUp):
            beside.wait()
    finally:
        beside.stop()
