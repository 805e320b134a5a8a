"""Bytes between configs against sums over every two parts."""

from dataclasses import replace
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import random_problem

from flexnet.exact.terms import measured_terms, place
from flexnet.plan.semantics import CORRECTED, ORIGINAL
from flexnet.plan.strategy import make_strategy
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import NOMINAL_COMM

EACH = replace(CORRECTED, share_transfers=False)  # pairs know of no other operator that reads the same


@pytest.mark.compiled
@pytest.mark.parametrize("semantics", [EACH, ORIGINAL], ids=lambda semantics: semantics.name)
@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=60, deadline=None)
def test_bytes_of_pairs_are_those_of_the_transfers(semantics, seed, strided):
    """Of every two operators that share tensors, placed as the terms assume: the transfers of their task graph."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, semantics)
    n_server, arrays = problem.cluster.n_server, problem.arrays
    terms = measured_terms(problem, strided=strided)
    choices = [int(rng.integers(len(options))) for options in terms.degrees]
    configs = place(problem, terms, choices, strided=strided)
    tasks = build(problem, make_strategy(problem, configs))
    for (u, v), table in terms.moved.items():
        n_edge = int(((arrays.edge_src == u) & (arrays.edge_dst == v)).sum())
        others = [w for w in arrays.edge_src[arrays.edge_dst == v] if w != u]
        if others:
            continue  # transfers tell their consumer only
        between = np.zeros((n_server, n_server))
        for t in np.flatnonzero((tasks.kind == NOMINAL_COMM) & (tasks.op == v)):
            between[divmod(int(tasks.place[t]), n_server)] += tasks.bytes[t]
        busiest = max(between.sum(axis=0).max(), between.sum(axis=1).max())
        found = table[choices[u], choices[v]]
        # There and back count together; several edges each by the server that is busiest for it.
        assert busiest <= found + 1e-6
        assert found <= 2 * n_edge * busiest + 1e-6
        if prod(configs[u].degrees) == prod(configs[v].degrees) == 1:
            assert found == 2 * busiest
