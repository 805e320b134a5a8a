import itertools
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnet.errors import FlexNetError
from flexnet.exact.configs import configurations
from flexnet.exact.domain import Domain, domain_of
from flexnet.exact.operator_cost import operator_cost
from flexnet.model.zoo.pase import GRAPHS


@given(st.lists(st.integers(1, 40), min_size=1, max_size=4), st.integers(1, 5), st.integers(1, 24))
def test_configurations_are_what_the_rule_says(sizes: list[int], cutoff: int, p: int) -> None:
    domain = Domain(tuple(sizes), (True,) * len(sizes), False, (), ())
    options = [[e for e in range(1, n + 1) if n % e == 0 and n / e >= cutoff] or [1] for n in sizes]
    wanted = [combination for combination in itertools.product(*options) if prod(combination) <= p]
    assert configurations(domain, cutoff, p).tolist() == [list(c) for c in wanted]


def test_reshapes_are_cut_contiguously() -> None:
    domain = Domain((8, 4, 6), (True,) * 3, True, (), ())
    configs = configurations(domain, 1, 48).tolist()
    assert [8, 2, 1] in configs and [8, 4, 1] in configs and [4, 1, 1] in configs
    assert [4, 2, 1] not in configs and [8, 2, 2] not in configs and [1, 1, 2] not in configs


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_widths_scale(name: str) -> None:
    small, whole = (GRAPHS[name].build(32, model) for model in (64, 128))
    assert len(small.operators) == len(whole.operators)
    kinds = [(a.kind, b.kind) for a, b in zip(small.operators, whole.operators, strict=True)]
    assert all(a == b for a, b in kinds)

    def total(graph: object) -> float:
        cost = 0.0
        for op in graph.operators:  # type: ignore[attr-defined]
            domain = domain_of(op)
            cost += float(operator_cost(op, domain, configurations(domain, 1, 1), 0.0)[0])
        return cost

    assert 0.2 * total(whole) < total(small) < 0.7 * total(whole)


def test_grouped_convolutions_are_refused() -> None:
    from flexnet.model.builder import GraphBuilder

    b = GraphBuilder("grouped", 8)
    b.conv2d(b.input(4, 8, 8), 8, (3, 3), groups=2)
    with pytest.raises(FlexNetError, match="has no costs"):
        domain_of(b.build().operators[0])
