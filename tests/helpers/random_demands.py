"""What hypothesis draws in the tests of topologies."""

import numpy as np
from hypothesis import strategies as st

from flexnet.network.demand import Demand
from flexnet.network.totient import group_sizes


@st.composite
def demands(draw: st.DrawFn, max_server: int = 24) -> Demand:
    """Sparse or dense model-parallel bytes, all-reduces of some group sizes (also ones that do not divide)."""
    n = draw(st.integers(1, max_server))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    pairs = rng.random((n, n)) * draw(st.sampled_from([0.0, 1.0, 1e6, 1e9]))
    pairs *= rng.random((n, n)) < draw(st.sampled_from([0.1, 1.0]))
    np.fill_diagonal(pairs, 0.0)
    sizes = draw(st.lists(st.sampled_from((1, *group_sizes(n), n // 2 + 1)), unique=True, max_size=4))
    volume = st.floats(0, 1e12, allow_subnormal=False)
    return Demand(n, pairs, {size: draw(volume) for size in sizes})


@st.composite
def grouped_demands(draw: st.DrawFn, max_server: int = 16) -> Demand:
    """Pairs as in `demands`, and all-reduces over up to five groups of any servers."""
    demand = draw(demands(max_server))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    n = demand.n_server
    sizes = rng.integers(1, n + 1, int(rng.integers(0, 6))).tolist()
    groups = {tuple(sorted(rng.permutation(n)[:size].tolist())): float(rng.random() * 1e9) for size in sizes}
    by_size: dict[int, float] = {}
    for group, volume in groups.items():
        by_size[len(group)] = by_size.get(len(group), 0.0) + volume
    return Demand(n, demand.model_parallel, by_size, groups)
