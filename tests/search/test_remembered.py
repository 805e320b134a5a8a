"""What is remembered of prices, and that chains are the same with it."""

import gc

import numpy as np
import pytest
from random_models import problem_of, tower

from flexnet.plan.cluster import Cluster
from flexnet.plan.semantics import PRESETS
from flexnet.plan.strategy import Strategy
from flexnet.search.prepare import prepare
from flexnet.search.remembered import MOST, Priced, Remembered
from flexnet.search.settings import Settings


def settings_of(topology: str) -> Settings:
    return Settings(topology, 150, method="mcmc", alpha=1.0, seed=5, propagation=True)


@pytest.mark.parametrize("topology", ["topoopt", "fattree", "random"])
@pytest.mark.parametrize("semantics", PRESETS)
def test_a_chain_is_the_same_without_memory(semantics, topology):
    """Same seed, with prices that are remembered and without: same plans, to the last bit, for fewer simulations."""
    problem = problem_of(tower(), Cluster(4, link_bandwidth=2e6, latency=1e-6, degree=2), PRESETS[semantics])
    chains, simulated = [], []
    for remembers in (True, False):
        ready = prepare(problem, settings_of(topology))
        pricer = ready.search.pricer
        assert pricer.remembers
        pricer.remembers = remembers
        calls, links = [], pricer._full.seconds
        pricer._full = pricer._links = Counted(links, calls)
        state, chain = ready.state, []
        for _ in range(150):
            state, info = ready.search.step(ready.rng, state)
            plans = [
                (plan.strategy.devices.tobytes(), plan.seconds, plan.network.route.tobytes())
                for plan in (state.current, state.best)
            ]
            chain.append((info.accepted, info.improved, info.rebuilt, *plans))
        chains.append(chain)
        simulated.append(len(calls))
    assert chains[0] == chains[1]
    assert simulated[0] < simulated[1] or (semantics, topology) in (("original", "fattree"), ("original", "random"))


class Counted:
    """Link model that counts how often it is asked."""

    def __init__(self, seconds, calls) -> None:
        self.asked, self.calls = seconds, calls

    def seconds(self, *args, **kwargs):
        self.calls.append(1)
        return self.asked(*args, **kwargs)


def test_a_bound_answers_only_below_it():
    """A time that is not exact says nothing where more is allowed."""
    ready = prepare(problem_of(tower(), Cluster(4, degree=2)), settings_of("fattree"))
    network, known = ready.state.network, Remembered()
    assert known.find(network, b"a", 1.0) is None
    known.keep(network, b"a", Priced(2.0, False))
    assert known.find(network, b"a", 1.9) == (2.0, False)
    assert known.find(network, b"a", 2.0) is None
    known.keep(network, b"a", Priced(2.5, True))
    assert known.find(network, b"a", 1.0) == known.find(network, b"a", 9.0) == (2.5, True)
    assert known.find(network, b"b", 1.0) is None
    known.forget()
    assert known.find(network, b"a", 9.0) is None


def test_a_network_that_is_gone_is_forgotten_and_much_is_too():
    known, ready = Remembered(), prepare(problem_of(tower(), Cluster(4, degree=2)), settings_of("fattree"))
    network = ready.state.network.with_routes((ready.state.network.route_ptr, ready.state.network.route))
    for i in range(MOST + 1):
        known.keep(network, i.to_bytes(4, "little"), Priced(1.0, True))
    assert known.find(network, (0).to_bytes(4, "little"), 1.0) is None
    assert known.find(network, MOST.to_bytes(4, "little"), 1.0) == (1.0, True)
    del network
    gc.collect()
    assert not known._of_network


def test_keys_tell_strategies_apart():
    """Choice, servers and waits all count."""
    base = Strategy(np.zeros(3, np.int64), np.zeros((3, 2), np.int64), np.full(3, -1))
    others = [base]
    for at in range(3):
        arrays = [array.copy() for array in base]
        arrays[at].flat[1] += 1
        others.append(Strategy(*arrays))
    assert len({Remembered.key_of(one) for one in others}) == 4
    assert Remembered.key_of(base) == Remembered.key_of(Strategy(*(array.copy() for array in base)))
