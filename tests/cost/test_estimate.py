"""Costs of cuts that were not measured."""

from dataclasses import replace
from math import prod

import pytest

from flexnet.cost.configs import FEW, every_degrees
from flexnet.cost.coverage import check_covers
from flexnet.cost.estimate import complete_table, estimate_entry, gpu_of
from flexnet.cost.gpus import GPUS
from flexnet.cost.parts import part_of
from flexnet.cost.roofline import part_seconds, roofline_table
from flexnet.cost.shape_names import shape_name
from flexnet.cost.table import CostTable, Entry
from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import OpType
from flexnet.model.operators import kind_of
from flexnet.model.precision import find_precision
from flexnet.model.zoo import MODELS
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import CORRECTED, ORIGINAL

BF16 = find_precision("bf16")


def dense(batch=64, width=16):
    b = GraphBuilder("mlp", batch)
    b.dense(b.input(width), 8)
    return b.build()


def table(graph, *entries, **provenance):
    return CostTable(graph.batch_size, 4, {graph.operators[0].key: entries}, False, "m.json", provenance)


@pytest.mark.parametrize("model", MODELS)
def test_measured_entries_stay_first_and_as_they_were(model):
    graph = MODELS[model].build({}, 60)
    base = roofline_table(graph, "h100", n_server=12)
    full = complete_table(base, graph)
    check_covers(full, graph)
    assert full.entries is base.entries
    for op in graph.operators:
        known, found = base.candidates(op), full.candidates(op)
        assert found[: len(known)] == known
        assert all(entry.estimated for entry in found[len(known) :])
        assert len({entry.degrees for entry in found}) == len(found)
        assert {entry.degrees for entry in found} >= set(every_degrees(op, n_server=12, big_gpu=0))
        assert all(entry.forward > 0 <= entry.backward and entry.memory > 0 for entry in found)
    cluster = Cluster(12)
    before, after = (make_problem(graph, one, cluster, ORIGINAL).candidates for one in (base, full))
    assert before == after
    assert make_problem(graph, full, cluster, CORRECTED).candidates[0][: len(before[0])] == before[0]


def test_a_shape_that_was_not_measured_is_scaled_from_that_of_its_name():
    """Attention without a bias from that with one, which takes several times as long."""
    b = GraphBuilder("m", 64)
    x = b.input(32, 64)
    for more in ({"buckets": 8}, {}):
        b.add(OpType.SCALED_DOT_PRODUCT, x, x, x, heads=2, **more)
    graph = b.build()
    biased, plain = graph.operators
    base = roofline_table(graph, "h100", n_server=4, dtype="bf16")
    measured = {shape_name(biased): tuple(replace(one, forward=7e-3) for one in base.candidates(biased))}
    key = {biased.key: measured[shape_name(biased)]}
    told = replace(base, entries=key, shapes=measured, estimated=False)
    full = complete_table(told, graph, gpu="h100")
    assert full.candidates(biased)[: len(key[biased.key])] == key[biased.key]
    for whole, entry in zip(key[biased.key], full.candidates(plain), strict=False):
        assert entry.estimated
        assert entry.degrees == whole.degrees
        theirs, ours = (
            part_seconds(part_of(op, entry.degrees, 0), 1, GPUS["h100"], precision=BF16) for op in (biased, plain)
        )
        assert ours[0] < theirs[0]
        assert entry.forward == pytest.approx(7e-3 * ours[0] / theirs[0])
        assert entry.backward == pytest.approx(whole.backward * ours[1] / theirs[1])
    original = complete_table(replace(told, shapes={}), graph, gpu="h100")  # whose names stand for all
    assert original.candidates(plain)[: len(key[biased.key])] == key[biased.key]


def test_the_nearest_relative_times_the_ratio_of_the_roofline():
    graph = dense()
    op, gpu = graph.operators[0], GPUS["a100"]
    known = (Entry((1, 1), 5e-3, 9e-3, 1000), Entry((1, 4), 2e-3, 3e-3, 600))
    found = estimate_entry(op, (4, 1), known, big_gpu=2, gpu=gpu)
    forward, backward = part_seconds(part_of(op, (4, 1), 2), 1, gpu)
    near = part_of(op, (1, 4), 2)
    here = part_seconds(near, 1, gpu)
    assert found.forward == pytest.approx(2e-3 * forward / here[0])
    assert found.backward == pytest.approx(3e-3 * backward / here[1])
    part = part_of(op, (4, 1), 2)
    assert found.memory == round(600 * kind_of(part).memory_bytes(part) / kind_of(near).memory_bytes(near))
    assert found.estimated
    assert estimate_entry(op, (1, 4), known, big_gpu=2, gpu=gpu) == replace(known[1], estimated=True)
    assert estimate_entry(op, (1, 2), known, big_gpu=2, gpu=gpu).forward < 5e-3  # of two equally near the finer one
    with pytest.raises(FlexNetError, match=r"^operator Dense_100 \(Dense_16_8\) has no known config to estimate"):
        estimate_entry(op, (1, 2), (), big_gpu=0, gpu=gpu)


def test_estimates_of_a_roofline_table_are_those_of_the_roofline():
    graph = dense(width=512)
    full = complete_table(roofline_table(graph, "h100", n_server=4, big_gpu=2), graph, big_gpu=2)
    for entry in full.candidates(graph.operators[0]):
        seconds = part_seconds(part_of(graph.operators[0], entry.degrees, 2), 1, GPUS["h100"])
        assert (entry.forward, entry.backward) == pytest.approx(seconds, rel=1e-6)


def test_the_gpu_that_provenance_names():
    graph = dense()
    entry = Entry((1, 4), 2e-3, 3e-3, 600)
    assert gpu_of(table(graph, entry)) is None
    assert gpu_of(table(graph, entry, gpu="NVIDIA H200")) is GPUS["h200"]
    assert gpu_of(table(graph, entry, gpu={"name": "v100"})) is GPUS["v100"]
    assert gpu_of(table(graph, entry, gpu="NVIDIA GeForce")) is None
    plain, named, asked = (
        complete_table(one, graph, gpu=gpu).candidates(graph.operators[0])
        for one, gpu in (
            (table(graph, entry), None),
            (table(graph, entry, gpu="h100"), None),
            (table(graph, entry), "h100"),
        )
    )
    assert named == asked != plain


def test_configs_of_every_way():
    linear = dense(batch=6, width=4).operators[0]
    found = every_degrees(linear, n_server=6, big_gpu=0)
    wanted = {
        (c, b) if r == 1 else (c, b, r) for c in (1, 2, 4, 8) for b in (1, 2, 3, 6) for r in (1, 2, 4) if c * b * r <= 6
    }
    assert set(found) == wanted and len(found) == len(wanted)
    assert [prod(degrees) for degrees in found] == sorted(prod(degrees) for degrees in found)
    assert {d[1] for d in every_degrees(linear, n_server=6, big_gpu=2)} == {1, 3}  # two GPUs share a part's batch
    assert {d[1] for d in every_degrees(linear, n_server=6, big_gpu=4)} == {1, 3}
    assert {d[1] for d in every_degrees(linear, n_server=6, big_gpu=5)} == {1, 2, 3, 6}


def test_of_many_configs_two_dimensions_are_cut():
    graph = MODELS["resnet"].build({}, 65536)
    for op in graph.operators:
        found = every_degrees(op, n_server=128, big_gpu=4)
        assert len(found) < 300
        if len(found) > FEW:
            assert max(sum(degree > 1 for degree in degrees) for degrees in found) <= 2
        assert {tuple(d) for d in found} >= {(*[1] * (op.rank - 1), 2**i) for i in range(8)}


def test_tables_are_never_cut():
    b = GraphBuilder("bag", 64)
    b.embedding(b.input(4, dtype="int64"), 1000, 16)
    assert every_degrees(b.build().operators[0], n_server=8, big_gpu=4) == [(1, 1)]
