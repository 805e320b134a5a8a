"""What is being computed is given up, in this process and in those it forked, and nothing is lost by it."""

import multiprocessing
import os
import signal
import threading
import time

import numpy as np
import pytest
from random_models import problem_of, tower

from flexnet.commands.console.signals import heard_by_kernels
from flexnet.interrupts import STOP, GivenUp, check, give_up, undisturbed
from flexnet.plan.cluster import Cluster
from flexnet.search.driver import drive
from flexnet.search.jobs import run
from flexnet.search.prepare import prepare
from flexnet.search.settings import Settings
from flexnet.simulate.arrays import network_arrays
from flexnet.simulate.fair import FairLinks
from flexnet.simulate.fifo import FifoLinks
from flexnet.simulate.packets import FollowedPackets


@pytest.fixture(autouse=True)
def nothing_given_up():
    """As other tests find it."""
    yield
    with undisturbed():
        pass


@pytest.fixture
def ready():
    problem = problem_of(tower(), Cluster(4, link_bandwidth=2e6, latency=1e-6, degree=2))
    return prepare(problem, Settings("topoopt", 40, seed=3))


@pytest.mark.parametrize("links", [FairLinks(), FifoLinks(), FollowedPackets()])
def test_every_kernel_returns_at_once(links, ready) -> None:
    plan = ready.state.current
    tasks, network = ready.search.pricer.tasks(plan.strategy), network_arrays(plan.network)
    seconds = links.seconds(tasks, network)
    give_up()
    with pytest.raises(GivenUp):
        links.seconds(tasks, network)
    with undisturbed():
        give_up()
        assert links.seconds(tasks, network) == seconds
    check()
    assert links.seconds(tasks, network) == seconds


def test_a_proposal_that_is_given_up_has_not_begun(ready) -> None:
    search = ready.search
    whole = drive(search, np.random.default_rng(7), ready.state, 30).state
    rng = np.random.default_rng(7)
    part = drive(search, rng, ready.state, 11).state
    give_up()
    stopped = drive(search, rng, part, 30)
    assert (stopped.interrupted, stopped.state) == (True, part)
    with undisturbed():
        pass
    ended = drive(search, rng, stopped.state, 30).state
    assert (ended.iteration, ended.best.seconds) == (whole.iteration, whole.best.seconds)
    assert ended.current.seconds == whole.current.seconds


def test_what_was_found_is_priced_after_all(ready) -> None:
    outcome = drive(ready.search, ready.rng, ready.state, 20)
    give_up()
    found = ready.found(outcome)
    assert found.interrupted and found.bound is None
    assert np.isfinite(found.plan.seconds)


@pytest.mark.compiled
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="the system cannot fork")
def test_processes_side_by_side_are_stopped_too() -> None:
    problem = problem_of(tower(), Cluster(4, link_bandwidth=2e6, latency=1e-6, degree=2))
    ready = prepare(problem, Settings("topoopt", 10**6, seed=3, jobs=2))
    turns = []

    def observe(*_: object) -> None:
        turns.append(STOP[0])
        if len(turns) == 3:
            give_up()

    outcome = run(ready, ready.state, observe=observe)
    assert outcome.interrupted and len(turns) == 3


def test_signals_are_heard_while_nothing_interprets_them() -> None:
    """A thread listens, whatever the first one does."""
    noted = []
    before = signal.signal(signal.SIGINT, lambda number, _: noted.append(number))
    try:
        with heard_by_kernels():
            check()
            os.kill(os.getpid(), signal.SIGWINCH)
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
            end = time.monotonic() + 30
            while not STOP[0] and time.monotonic() < end:
                time.sleep(0.01)
            with pytest.raises(GivenUp):
                check()
        check()
    finally:
        signal.signal(signal.SIGINT, before)
    assert noted == [signal.SIGINT]
