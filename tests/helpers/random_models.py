"""Random small models with made-up costs, clusters and configs for property tests."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from types import MappingProxyType

import numpy as np

from flexnet.cost.configs import every_degrees
from flexnet.cost.parts import part_of
from flexnet.cost.table import CostTable, Entry
from flexnet.cost.tensor_parallel import TensorParallel
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, Operator, OpType
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import Problem, make_problem
from flexnet.plan.semantics import CORRECTED, Semantics
from flexnet.plan.strategy import Config, Strategy

BATCH = 12


def random_model(rng: np.random.Generator) -> ModelGraph:
    """Two to ten operators that read earlier ones; every operator has a measurement of its own."""
    b = GraphBuilder("random", BATCH)
    first = int(rng.integers(4))
    if first == 0:
        outputs = [b.embedding(b.input(3, dtype="int64"), 10, 4)]
    elif first == 1:
        outputs = [b.conv2d(b.input(3, 4, 4), 4, (3, 3), padding=(1, 1))]
    else:
        outputs = [b.dense(b.input(6, 4) if first == 2 else b.input(6), 4)]
    for _ in range(int(rng.integers(1, 10))):
        x = outputs[int(rng.integers(len(outputs)))]
        rank = len(x.tensor.dims)
        alike = [y for y in outputs if y.tensor.dims == x.tensor.dims]
        y = alike[int(rng.integers(len(alike)))]
        kind = str(rng.choice(["dense", "concat", "embedding", "conv", "flat", "attention", "add", "softmax"]))
        if kind == "embedding":
            outputs.append(b.embedding(b.input(2, dtype="int64"), 10, 4))
        elif kind == "conv" and rank == 4:
            outputs.append(b.conv2d(x, int(rng.choice([3, 4])), (3, 3), padding=(1, 1)))
        elif kind == "flat" and rank == 4:
            outputs.append(b.flat(x))
        elif kind == "attention" and rank == 3:
            outputs.append(b.attention(x, y, alike[0], 4, 2))
        elif kind == "concat":
            outputs.append(b.concat([x, y, alike[-1]][: int(rng.integers(2, 4))], axis=1))
        elif kind == "add":
            outputs.append(b.binary(OpType.ADD, x, y))
        elif kind == "softmax":
            outputs.append(b.softmax(x))
        else:
            outputs.append(
                b.dense(b.flat(x) if rank > 3 else x, int(rng.choice([1, 4, 6])), bias=bool(rng.integers(2)))
            )
    return own_keys(tied_at_random(rng, b.build()))


def tied_at_random(rng: np.random.Generator, graph: ModelGraph) -> ModelGraph:
    """The same model, some Linear operators of which have the weights of one before that are of the same shape."""
    operators, first = list(graph.operators), dict[tuple[int, tuple[int, ...]], tuple[int, int]]()
    for op in graph.operators if rng.random() < 0.5 else ():
        if op.kind == OpType.LINEAR:
            firsts = {i: first.setdefault((i, weight.dims), (op.index, i)) for i, weight in enumerate(op.weights)}
            tied = {i: of for i, of in firsts.items() if of[0] < op.index and rng.random() < 0.7}
            operators[op.index] = replace(op, tied=MappingProxyType(tied))
    return replace(graph, operators=tuple(operators))


def own_keys(graph: ModelGraph) -> ModelGraph:
    """The same model with a measurement name for every operator."""
    return replace(graph, operators=tuple(replace(op, key=f"{op.key}#{op.index}") for op in graph.operators))


def ways_to_cut(op: Operator, n_server: int, *, everywhere: bool) -> list[tuple[int, ...]]:
    """Degrees that divide the output: of the batch, of a Linear's channels, or of every dimension."""
    dims = op.outputs[0].dims
    ways: list[tuple[int, ...]] = [()]
    for k, dim in enumerate(dims):
        free = everywhere or k == len(dims) - 1 or (k == 0 and op.kind == OpType.LINEAR)
        ways = [(*way, i) for way in ways for i in range(1, n_server + 1) if dim % i == 0 and (free or i == 1)]
    return [way for way in ways if prod(way) <= n_server]


def cost_table(graph: ModelGraph, n_server: int, ways: Sequence[Sequence[tuple[int, ...]]]) -> CostTable:
    """Distinct times and sizes for every config."""
    entries: dict[str, tuple[Entry, ...]] = {}
    for op in graph.operators:
        entries[op.key] = tuple(
            Entry(degrees, 1e-3 * (op.index + 1) / prod(degrees), 3e-3 * (i + 1) / prod(degrees), 1000 * (i + 1))
            for i, degrees in enumerate(ways[op.index])
        )
    return CostTable(graph.batch_size, n_server, entries, False, "m.json", {})


def problem_of(graph: ModelGraph, cluster: Cluster, semantics: Semantics = CORRECTED) -> Problem:
    """Costs for data parallelism and channel-split Linear operators."""
    ways = [ways_to_cut(op, cluster.n_server, everywhere=False) for op in graph.operators]
    return make_problem(graph, cost_table(graph, cluster.n_server, ways), cluster, semantics)


def random_problem(rng: np.random.Generator, semantics: Semantics) -> Problem:
    """A random model on 1 to 6 servers, operators cut in any way their kind or, the original, consumers understand."""
    graph = random_model(rng)
    n_server = int(rng.integers(1, 7))
    cluster = Cluster(n_server, int(rng.choice([0, 1, 3, 4])), inter_gpu_bandwidth=25e9)
    if semantics.shard_parameters:
        ways = [every_degrees(op, n_server=n_server, big_gpu=0) for op in graph.operators]
    else:
        ways = [
            ways_to_cut(op, n_server, everywhere=all(len(source.tensor.dims) == op.rank for source in op.inputs))
            for op in graph.operators
        ]
    return make_problem(graph, cost_table(graph, n_server, ways), cluster, semantics)


def random_configs(rng: np.random.Generator, problem: Problem, *, distinct: bool = True) -> list[Config]:
    """Any measured config of every operator on any servers; several parts may share one unless ``distinct``."""
    configs = []
    for candidates in problem.candidates:
        degrees = candidates[int(rng.integers(len(candidates)))].degrees
        devices = rng.choice(problem.cluster.n_server, prod(degrees), replace=not distinct)
        configs.append(Config(degrees, tuple(int(d) for d in devices)))
    return configs


def waiting(rng: np.random.Generator, problem: Problem, configs: list[Config]) -> list[Config]:
    """The configs, some of whose gradients wait for any operator."""
    names = [op.name for op in problem.graph.operators]
    others = [[other for other in names if other != name] for name in names]
    return [
        config._replace(after=str(rng.choice(found))) if found and rng.random() < 0.4 else config
        for config, found in zip(configs, others, strict=True)
    ]


def crowded_strategy(problem: Problem, configs: list[Config]) -> Strategy:
    """As `make_strategy`, but parts of an operator may share a server, which no search proposes."""
    n_op, n_server = len(configs), problem.cluster.n_server
    strategy = Strategy(np.zeros(n_op, np.int64), np.full((n_op, n_server), -1, np.int64), np.full(n_op, -1))
    number = {op.name: op.index for op in problem.graph.operators}
    for op, config in enumerate(configs):
        strategy.after[op] = number.get(config.after, -1)
        strategy.choice[op] = problem.choice_of(op, config.degrees)
        strategy.devices[op, : len(config.devices)] = config.devices
    return strategy


def mlp(n_layer: int = 3, width: int = 8, batch: int = 16) -> ModelGraph:
    """A chain of Linear operators."""
    b = GraphBuilder("mlp", batch)
    x = b.input(width)
    for _ in range(n_layer):
        x = b.dense(x, width)
    return own_keys(b.build())


def tower(batch: int = 16) -> ModelGraph:
    """An embedding and a Linear operator joined, then a Linear operator: model parallelism pays."""
    b = GraphBuilder("tower", batch)
    table = b.embedding(b.input(2, dtype="int64"), 100_000, 16)
    x = b.dense(b.concat([b.dense(b.input(8), 16), table], axis=1), 16)
    b.dense(x, 4)
    return own_keys(b.build())


def small_model(rng: np.random.Generator, n_op: int) -> ModelGraph:
    """A few operators over (features, batch): layers, sums, tables that cannot be cut, several branches."""
    b = GraphBuilder("small", 12)
    tensors = [b.embedding(b.input(3, dtype="int64"), 50, 4) if rng.random() < 0.3 else b.dense(b.input(8), 4)]
    while len(b.build().operators) < n_op:
        x, y = (tensors[max(int(rng.integers(-2, len(tensors))), 0)] for _ in range(2))
        kind = str(rng.choice(["dense", "dense", "add", "embedding", "concat", "softmax"]))
        if kind == "dense":
            tensors.append(b.dense(x, 4))
        elif kind == "add":
            tensors.append(b.binary(OpType.ADD, x, y))
        elif kind == "concat":
            tensors.append(b.dense(b.concat([x, y], axis=1), 4))
        elif kind == "embedding":
            tensors.append(b.embedding(b.input(2, dtype="int64"), 50, 4))
        else:
            tensors.append(b.softmax(x))
    return own_keys(tied_at_random(rng, b.build()))


def small_problem(
    rng: np.random.Generator, n_server: int, n_op: int, most_choices: int, semantics: Semantics = CORRECTED
) -> Problem:
    """Times of parts that fall with their number, but not always in proportion; links neither slow nor fast."""
    graph = small_model(rng, n_op)
    entries = {}
    for op in graph.operators:
        ways = ways_to_cut(op, n_server, everywhere=False)
        ways = [ways[i] for i in sorted(rng.permutation(len(ways))[:most_choices])]
        whole, power = float(rng.choice([1e-4, 1e-3, 3e-3])), float(rng.choice([0.7, 1.0]))
        entries[op.key] = tuple(Entry(w, whole / prod(w) ** power, 2 * whole / prod(w) ** power, 8) for w in ways)
    table = CostTable(graph.batch_size, n_server, entries, False, "m.json", {})
    bytes_ = 4 * 12 * 4 * float(rng.choice([0.3, 1.0, 3.0]))  # of a tensor, in about the time of an operator
    cluster = Cluster(n_server, int(rng.choice([0, 4])), 10 * bytes_ / 1e-3, bytes_ / 1e-3, 0.0, 2)
    return make_problem(graph, table, cluster, semantics)


def in_micro_batches(problem: Problem, n: int) -> Problem:
    """The same problem, of one of ``n`` micro-batches."""
    return make_problem(problem.graph, problem.table, problem.cluster, problem.semantics, micro_batches=n)


def in_random_groups(rng: np.random.Generator, problem: Problem) -> Problem:
    """The same problem, with groups of GPUs of its servers that share parts in any way that some config allows."""
    graph, cluster = problem.graph, problem.cluster
    gpus = int(rng.choice([n for n in range(1, cluster.gpus + 1) if cluster.gpus % n == 0]))
    degrees = []
    for op in graph.operators:
        first = problem.candidates[op.index][0].degrees
        part = part_of(op, first, cluster.big_gpu // gpus)
        ways = every_degrees(part, n_server=gpus, big_gpu=0)
        degrees.append(ways[int(rng.integers(len(ways)))])
    lacking = tuple(tuple(rng.random(len(op.inputs)).tolist()) for op in graph.operators)
    parallel = TensorParallel(gpus, cluster.big_gpu // gpus, cluster.inter_gpu_bandwidth, tuple(degrees), lacking)
    return make_problem(graph, problem.table, cluster, problem.semantics, parallel=parallel)
