"""Operators cut in every way their kinds allow: who sends what to whom, and who reduces what with whom.

Compared with what the operators' mathematics reads, element by element, and with the result of the uncut model.
"""

from dataclasses import replace
from itertools import product
from math import prod
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import cost_table, own_keys, random_configs, random_problem

from flexnet.cost.configs import every_degrees
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import OpType
from flexnet.model.operators import kind_of
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config, make_strategy
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import ALLREDUCE, NOMINAL_COMM

seeds = st.integers(0, 2**32 - 1)
MOST = 12


def parts_of(degrees, rank):
    """Coordinates of every part, little-endian, with one of a reduction."""
    full = (*degrees, 1)[: rank + 1]
    return [np.unravel_index(j, full, order="F") for j in range(prod(full))], full


def piece(size, degree, at):
    return range(at * size // degree, (at + 1) * size // degree)


def reads(op, i, at, full):
    """For every dimension of input ``i`` the elements that part ``at`` needs, from what the operator computes."""
    x, y = op.inputs[i].tensor.dims, op.outputs[0].dims

    def cut(k, size):
        return set(piece(size, full[k], at[k]))

    batch = cut(op.rank - 1, x[-1])
    if op.kind == OpType.LINEAR:
        return [cut(op.rank, x[0]), *(cut(k, x[k]) for k in range(1, op.rank - 1)), batch]
    if op.kind in (OpType.CONV2D, OpType.POOL2D):
        spatial = []
        for k, axis in enumerate("wh"):
            stride, window, padding = (op.attrs[f"{what}_{axis}"] for what in ("stride", "kernel", "padding"))
            ends = {e * stride - padding + tap for e in piece(y[k], full[k], at[k]) for tap in range(window)}
            spatial.append(ends & set(range(x[k])))
        return [*spatial, cut(4, x[2]) if op.kind == OpType.CONV2D else cut(2, x[2]), batch]
    if op.kind == OpType.FLAT and len(x) == 4:
        wanted, volume = cut(0, y[0]), x[0] * x[1]
        return [set(range(x[0])), set(range(x[1])), {e // volume for e in wanted}, batch]
    if op.kind == OpType.MULTI_HEAD_ATTENTION:
        return [set(range(x[0])), cut(1, x[1]) if i == 0 else set(range(x[1])), batch]
    if op.kind == OpType.CONCAT:
        return [cut(k, x[k]) if full[k] > 1 else set(range(x[k])) for k in range(op.rank)]
    return [cut(k, size) for k, size in enumerate(x)]


def pair(kind):
    """A producer of every kind of cut, a consumer of this kind, and what adds up its partial sums."""
    b = GraphBuilder("pair", 4)
    if kind in ("dense", "softmax"):
        x = b.dense(b.input(4), 8)
        y = b.dense(x, 6) if kind == "dense" else b.softmax(x)
    elif kind == "tokens":
        y = b.dense(b.dense(b.input(4, 6), 8), 4)
    elif kind == "attention":
        x = b.dense(b.input(4, 6), 8)
        y = b.attention(x, x, x, 8, 4)
    else:
        x = b.conv2d(b.input(4, 8, 8), 4, (3, 3), padding=(1, 1))
        if kind == "conv":
            y = b.conv2d(x, 6, (3, 5), padding=(1, 2))
        elif kind == "strided":
            y = b.conv2d(x, 2, (3, 2), stride=(2, 1), padding=(1, 3))
        elif kind == "pool":
            y = b.pool2d(x, (2, 2), stride=(2, 2))
        elif kind == "concat":
            y = b.concat([x, x], axis=1)
        elif kind == "add":
            y = b.binary(OpType.ADD, x, x)
        elif kind == "norm":
            y = b.batch_norm(x)
        else:
            y = b.flat(x)
    b.unary(OpType.RELU, y)
    return own_keys(b.build())


KINDS = ("dense", "tokens", "attention", "softmax", "conv", "strided", "pool", "concat", "add", "norm", "flat")


@pytest.mark.parametrize("kind", KINDS)
@given(seeds)
@settings(max_examples=25, deadline=None)
def test_a_part_receives_all_it_reads_from_every_partial_sum(kind, seed):
    """All parts on servers of their own, so that every overlap is a transfer there and one back.

    What reads the second operator lies on one server more and is left out.
    """
    rng = np.random.default_rng(seed)
    graph = pair(kind)
    first, second, last = graph.operators
    ways = [every_degrees(op, n_server=MOST, big_gpu=0) for op in (first, second)]
    p, c = (way[int(rng.integers(len(way)))] for way in ways)
    n_server = prod(p) + prod(c) + 1
    whole = (1,) * last.rank
    table = cost_table(graph, n_server, [[p], [c], [whole]])
    problem = make_problem(graph, table, Cluster(n_server), replace(CORRECTED, share_transfers=False))
    servers = rng.permutation(n_server).tolist()
    configs = [Config(p, tuple(servers[: prod(p)])), Config(c, tuple(servers[prod(p) : -1]))]
    configs.append(Config(whole, (servers[-1],)))
    tasks = build(problem, make_strategy(problem, configs))
    tasks.check()
    sent = {}
    for t in np.flatnonzero(tasks.kind == NOMINAL_COMM):
        ends = divmod(int(tasks.place[t]), n_server)
        if servers[-1] not in ends:
            sent.setdefault(ends, []).append(int(tasks.bytes[t]))
    wanted = {}
    out = first.outputs[0].dims
    (coordinates, full), (senders, cut) = parts_of(c, second.rank), parts_of(p, first.rank)
    for j, at in enumerate(coordinates):
        for i in range(len(second.inputs)):
            wants = reads(second, i, at, full)
            for q, have in enumerate(senders):
                holds = [set(piece(size, cut[k], have[k])) for k, size in enumerate(out)]
                # Transfers are boxes: between strided windows there may be elements that nobody reads.
                box = [set(range(min(w), max(w) + 1)) if w else w for w in wants]
                least = prod(len(w & h) for w, h in zip(wants, holds, strict=True))
                size = prod(len(w & h) for w, h in zip(box, holds, strict=True))
                if not all(full[k] > 1 for k in range(second.rank - 1)) and kind in ("strided", "pool"):
                    # Uncut dimensions are sent whole, whatever windows reach.
                    rows = [set(range(out[k])) if k < 2 and full[k] == 1 else box[k] for k in range(4)]
                    size = prod(len(w & h) for w, h in zip(rows, holds, strict=True))
                assert size >= least
                if size:
                    ends = configs[0].devices[q], configs[1].devices[j]
                    wanted.setdefault(ends, []).append(4 * size)
                    wanted.setdefault(ends[::-1], []).append(4 * size)
    assert {ends: sorted(sizes) for ends, sizes in sent.items()} == {e: sorted(sizes) for e, sizes in wanted.items()}


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_groups_share_out_the_parts_and_shards_the_weights(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, CORRECTED)
    apart = tuple(replace(op, tied=MappingProxyType({})) for op in problem.graph.operators)
    problem = make_problem(replace(problem.graph, operators=apart), problem.table, problem.cluster, CORRECTED)
    configs = random_configs(rng, problem)
    tasks = build(problem, make_strategy(problem, configs))
    reduces = iter(np.flatnonzero(tasks.kind == ALLREDUCE))
    for op, config in zip(problem.graph.operators, configs, strict=True):
        _, full = parts_of(config.degrees, op.rank)
        for w, weight in enumerate(op.weights):
            split = {k for k in kind_of(op).weight_split(op, w) if k >= 0}
            shards = prod(full[k] for k in split)
            copies = 1 if op.rank in split else full[-1]  # the parts of a reduction hold it, each by itself
            groups = [next(reduces) for _ in range(shards * copies)]
            assert all(tasks.op[t] == op.index for t in groups)
            assert sorted(m for t in groups for m in tasks.members(int(t))) == sorted(config.devices)
            assert sum(int(tasks.bytes[t]) for t in groups) == copies * 4 * weight.volume
    assert next(reduces, None) is None


def test_a_part_is_as_large_as_its_share():
    """Work and weights of all parts together are those of the operator, for cuts that halve no window."""
    b = GraphBuilder("one", 8)
    x = b.dense(b.input(16, 32), 16)
    b.attention(x, x, x, 16, 4)
    b.conv2d(b.input(8, 16, 16), 12, (3, 3), padding=(1, 1))
    for op in b.build().operators:
        kind = kind_of(op)
        for degrees in every_degrees(op, n_server=8, big_gpu=0):
            part = kind.part(op, degrees)
            if op.kind == OpType.MULTI_HEAD_ATTENTION and degrees[1] > 1:
                continue  # all of the key and value is projected for every piece of the query
            assert kind.flops(part).forward * prod(degrees) == kind.flops(op).forward


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_a_cut_mlp_computes_what_the_uncut_one_does(seed):
    """Channels, reduction and batch: every part multiplies its slices, and whoever reads sums up."""
    rng = np.random.default_rng(seed)
    b = GraphBuilder("mlp", 4)
    x = b.input(6)
    for width in (8, 12, 4):
        x = b.dense(x, width)
    graph = b.build()
    data = rng.normal(size=(6, 4))  # innermost first
    weights = [(rng.normal(size=op.weights[0].dims), rng.normal(size=op.weights[1].dims)) for op in graph.operators]
    whole = data
    for kernel, bias in weights:
        whole = kernel.T @ whole + bias[:, None]
    boxes = [((range(6), range(4)), data)]  # what the producer's parts hold: rows, columns, and maybe partial sums
    for op, (kernel, bias) in zip(graph.operators, weights, strict=True):
        ways = every_degrees(op, n_server=12, big_gpu=0)
        coordinates, full = parts_of(ways[int(rng.integers(len(ways)))], op.rank)
        split, (shard, out) = kind_of(op).input_split(op, 0), kind_of(op).weight_split(op, 0)
        x = op.inputs[0].tensor.dims
        results = []
        for at in coordinates:
            rows, columns = (list(piece(size, full[k], at[k])) for size, k in zip(x, split, strict=True))
            got = np.zeros((len(rows), len(columns)))
            for (have_rows, have_columns), value in boxes:
                for (a, row), (c, column) in product(enumerate(have_rows), enumerate(have_columns)):
                    if row in rows and column in columns:
                        got[rows.index(row), columns.index(column)] += value[a, c]
            ins = list(piece(x[0], full[shard], at[shard]))
            outs = list(piece(op.outputs[0].dims[0], full[out], at[out]))
            assert ins == rows
            value = kernel[np.ix_(ins, outs)].T @ got
            if at[op.rank] == 0:
                value += bias[outs][:, None]
            results.append(((outs, columns), value))
        boxes = results
    total = np.zeros_like(whole)
    for (rows, columns), value in boxes:
        total[np.ix_(rows, columns)] += value
    np.testing.assert_allclose(total, whole)
