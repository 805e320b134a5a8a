"""The arrays of a search problem, and what cannot be one."""

from dataclasses import replace

import numpy as np
import pytest
from random_models import cost_table, mlp, own_keys, problem_of, tower

from flexnet.cost.table import Entry
from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import CORRECTED, ORIGINAL


def edges(problem):
    """Producer, consumer, dimensions, split and bytes per element of every edge, as Python values."""
    a = problem.arrays
    return [
        (
            int(a.edge_src[e]),
            int(a.edge_dst[e]),
            tuple(a.edge_dims[e, : a.edge_rank[e]].tolist()),
            tuple(a.edge_split[e, : a.edge_rank[e]].tolist()),
            int(a.edge_element_bytes[e]),
        )
        for e in range(len(a.edge_src))
    ]


def cuts(problem):
    """For every weight the config dimensions that shard it."""
    return [np.flatnonzero(row).tolist() for row in problem.arrays.weight_cut]


def join(batch: int = 4) -> ModelGraph:
    """Embedding, Linear, their Concat and a Linear over it."""
    b = GraphBuilder("join", batch)
    table = b.embedding(b.input(2, dtype="int64"), 10, 6)
    b.dense(b.concat([table, b.dense(b.input(5), 3)], axis=1), 2)
    return own_keys(b.build())


def test_edges_by_consumer_then_input():
    """Data type of input 0 in the original: the join of an embedding and floats counts 8 bytes."""
    original, corrected = (edges(problem_of(join(), Cluster(2), preset)) for preset in (ORIGINAL, CORRECTED))
    assert original == [(0, 2, (6, 4), (0, 1), 8), (1, 2, (3, 4), (0, 1), 4), (2, 3, (9, 4), (0, 1), 8)]
    assert corrected == [(0, 2, (6, 4), (0, 1), 4), (1, 2, (3, 4), (0, 1), 4), (2, 3, (9, 4), (2, 1), 4)]


def test_an_image_that_is_flattened_is_cut_along_the_batch_and_its_channels():
    b = GraphBuilder("flat", 4)
    b.dense(b.flat(b.conv2d(b.input(3, 8, 8), 2, (3, 3))), 2)
    for preset, channels, linear in ((ORIGINAL, -1, (0, 1)), (CORRECTED, 0, (2, 1))):
        found = edges(problem_of(own_keys(b.build()), Cluster(2), preset))
        assert found == [(0, 1, (6, 6, 2, 4), (-1, -1, channels, 1), 4), (1, 2, (72, 4), linear, 4)]


def test_weights_and_candidates():
    problem = problem_of(join(), Cluster(2, 4, 25e9), CORRECTED)
    a = problem.arrays
    assert a.weight_ptr.tolist() == [0, 1, 3, 3, 5]
    assert a.weight_bytes.tolist() == [4 * 60, 4 * 15, 4 * 3, 4 * 18, 4 * 2]
    assert cuts(problem) == [[], [0, 2], [0], [0, 2], [0]]
    assert cuts(problem_of(join(), Cluster(2), ORIGINAL)) == [[]] * 5
    assert a.is_whole.tolist() == [True, False, False, False]
    assert (a.n_server, a.inter_gpu_bandwidth, a.exact_intra_server) == (2, 25e9, True)
    assert a.weight_gpus.tolist() == [0, 4, 4, 4, 4] and a.weight_pieces.tolist() == [1] * 5
    last = slice(int(a.candidate_ptr[3]), int(a.candidate_ptr[4]))
    assert a.degrees[last, :2].tolist() == [[1, 1], [1, 2], [2, 1]]
    assert a.parts[last].tolist() == [1, 2, 2]
    assert a.batch_only[last].tolist() == [True, True, False]
    for op, entries in enumerate(problem.candidates):
        at = slice(int(a.candidate_ptr[op]), int(a.candidate_ptr[op + 1]))
        assert a.forward[at].tolist() == [entry.forward for entry in entries]
        assert a.backward[at].tolist() == [entry.backward for entry in entries]
        assert a.memory[at].tolist() == [entry.memory for entry in entries]


def test_of_a_config_measured_twice_the_last_costs_count_and_it_is_drawn_twice():
    graph = mlp(1)
    key = graph.operators[0].key
    table = cost_table(graph, 2, [[(1, 1)]])
    entries = (Entry((1, 1), 1.0, 2.0, 10), Entry((1, 2), 3.0, 4.0, 20), Entry((1, 1), 5.0, 6.0, 30))
    problem = make_problem(graph, replace(table, entries={key: entries}), Cluster(2), CORRECTED)
    assert problem.arrays.forward.tolist() == [5.0, 3.0, 5.0]
    assert problem.arrays.memory.tolist() == [30, 20, 30]
    assert problem.choice_of(0, (1, 1)) == 0


def test_configs_with_more_parts_than_servers_are_no_candidates():
    graph = mlp(1)
    problem = make_problem(graph, cost_table(graph, 4, [[(1, 8), (1, 4), (2, 2), (4, 2)]]), Cluster(4), CORRECTED)
    assert [entry.degrees for entry in problem.candidates[0]] == [(1, 4), (2, 2)]
    with pytest.raises(FlexNetError, match=r"Dense_100 .* cannot be cut \(4, 2\): it needs 8 devices and .* has 4$"):
        problem.choice_of(0, (4, 2))
    with pytest.raises(FlexNetError, match=r"no measurement of .* with config 2-1-2; it has 2-1-8, 2-1-4"):
        problem.choice_of(0, (1, 2))


def test_what_nobody_reads_is_not_cut_along_what_it_sums_over():
    """Nobody would add its partial sums up, so that such a cut would cost nothing."""
    graph = mlp(2)
    ways = [(1, 1), (1, 4), (1, 1, 4), (2, 1, 2)]
    problem = make_problem(graph, cost_table(graph, 4, [ways, ways]), Cluster(4), CORRECTED)
    read, unread = ([entry.degrees for entry in entries] for entries in problem.candidates)
    assert (read, unread) == (ways, ways[:2])
    with pytest.raises(FlexNetError, match=r"cannot be cut \(1, 1, 4\): along what it sums over only what another op"):
        problem.choice_of(1, (1, 1, 4))


@pytest.mark.parametrize(
    ("n_server", "ways", "sentence"),
    [
        (4, [(1, 1)], r"m\.json was measured for 2 servers; the cluster has 4"),
        (2, [(1, 1, 1)], r"m\.json: \S+ is cut in 3 dimensions \(1, 1, 1\); operator Dense_100 has 2"),
        (2, [(1, 1, 1, 2)], r"m\.json: \S+ is cut in 4 dimensions \(1, 1, 1, 2\); operator Dense_100 has 2"),
        (2, [(1, 4)], r"m\.json: no measured config of \S+ fits on 2 servers"),
    ],
)
def test_what_does_not_fit_is_refused(n_server, ways, sentence):
    graph = mlp(1)
    with pytest.raises(FlexNetError, match=f"^{sentence}$"):
        make_problem(graph, cost_table(graph, 2, [ways]), Cluster(n_server), CORRECTED)


def test_a_missing_measurement_is_refused():
    graph = tower()
    table = cost_table(graph, 2, [[(1, 1)]] * len(graph.operators))
    entries = {key: entry for key, entry in table.entries.items() if not key.startswith("Concat")}
    with pytest.raises(FlexNetError, match=r"m\.json has no measurement Concat_1#2, which operator Concat_102 needs"):
        make_problem(graph, replace(table, entries=entries), Cluster(2), CORRECTED)


def test_only_operators_that_shard_have_channel_parts_with_whole_inputs():
    b = GraphBuilder("deep", 4)
    x = b.dense(b.input(3, 6), 6)  # three dimensions: (6, 3, batch)
    b.dense(b.attention(x, x, x, 6, 2), 6)
    problem = problem_of(own_keys(b.build()), Cluster(2), CORRECTED)
    assert [split for *_, split, _ in edges(problem)] == [(-1, 1, 2), (-1, -1, 2), (-1, -1, 2), (3, 1, 2)]
    assert problem.graph.operators[1].kind == OpType.MULTI_HEAD_ATTENTION
    assert cuts(problem) == [[0, 3], [0], [3], [0, 3], [0]]
