"""Where a model is cut into stages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnet import MODELS
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import OpType
from flexnet.search.starts.borders import cut_anywhere, cut_where_little_goes_over, going_over


def test_a_tensor_goes_over_every_border_until_its_last_reader_once() -> None:
    b = GraphBuilder("m", batch_size=2)
    wide = b.dense(b.input(3), 8)  # read by the next two
    narrow = b.dense(wide, 4)
    again = b.dense(wide, 4)
    b.binary(OpType.ADD, narrow, again)
    graph = b.build()
    assert going_over(graph, range(4)).tolist() == [2 * 8 * 4, 2 * (8 + 4) * 4, 2 * (4 + 4) * 4]
    assert going_over(graph, [1, 2, 3]).tolist() == [2 * 4 * 4, 2 * (4 + 4) * 4], "what others put out goes nowhere"
    assert going_over(graph, [0]).tolist() == going_over(graph, []).tolist() == []


def test_borders_lie_where_least_goes_over_of_places_nearby() -> None:
    """Of twelve operators alike in three stages the borders are two away from where all have four."""
    load, over = np.full(12, 1 / 12), np.full(11, 9)
    over[[4, 6]] = 1  # behind the fifth and the seventh: nearest to a third, and to two thirds
    assert cut_anywhere(load, 3) == (0,) * 4 + (1,) * 4 + (2,) * 4
    assert cut_where_little_goes_over(load, over, 3, 3) == (0,) * 5 + (1,) * 2 + (2,) * 5
    over[3] = 1  # where all are alike
    assert cut_where_little_goes_over(load, over, 3, 3) == (0,) * 4 + (1,) * 3 + (2,) * 5


def test_sets_that_have_stages_by_turns_compute_alike() -> None:
    """Four stages on two sets: the nearest places would give the first set 7 of 12, others as near to it 6."""
    load, over = np.full(12, 1 / 12), np.full(11, 9)
    over[[2, 3, 5, 7, 9]] = 1
    stages = np.array(cut_where_little_goes_over(load, over, 4, 2))
    assert np.bincount(stages % 2).tolist() == [6, 6]
    assert (over[np.flatnonzero(np.diff(stages))] == 1).all()


@given(seed=st.integers(0, 2**32 - 1), n_set=st.integers(1, 5), n_turn=st.integers(1, 4))
def test_all_stages_are_there_in_order_and_no_more_goes_over(seed: int, n_set: int, n_turn: int) -> None:
    rng = np.random.default_rng(seed)
    n_stage = n_set * n_turn
    load = rng.random(int(rng.integers(1, 60))) + 1e-3
    load /= load.sum()
    over = rng.integers(1, 5, len(load) - 1)
    anywhere, found = (np.array(cut_anywhere(load, n_stage)), cut_where_little_goes_over(load, over, n_stage, n_set))
    assert len(found) == len(load) and (np.diff(found) >= 0).all() and 0 <= min(found) <= max(found) < n_stage
    if len(load) >= 4 * n_stage and load.max() < 0.4 / n_stage:
        assert sorted(set(found)) == list(range(n_stage))
        assert over[np.flatnonzero(np.diff(found))].sum() <= over[np.flatnonzero(np.diff(anywhere))].sum()


@pytest.mark.parametrize("n_stage", [2, 4])
def test_between_layers_of_a_transformer_one_tensor_goes_over(n_stage: int) -> None:
    graph = MODELS["llama"].build({"--num-layers": 8, "--hidden-size": 256, "--intermediate-size": 1024}, 4)
    ops = range(len(graph.operators))
    over, load = going_over(graph, ops), np.full(len(graph.operators), 1 / len(graph.operators))
    stages = cut_where_little_goes_over(load, over, n_stage, n_stage)
    hidden = 4 * graph.operators[0].outputs[0].volume
    assert {int(over[border]) for border in np.flatnonzero(np.diff(stages))} == {hidden}
    assert hidden < over.max()
