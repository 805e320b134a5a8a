"""A model of one's own on 8 servers: two towers, of users and of items, from its layers to the files of its plan."""

import tempfile
from pathlib import Path

from flexnet import (
    CORRECTED,
    Cluster,
    GraphBuilder,
    OpType,
    Settings,
    find_plan,
    gbps_to_bytes_per_s,
    make_problem,
    read_strategy,
    read_taskgraph,
    roofline_table,
    us_to_s,
)

b = GraphBuilder("two_towers", batch_size=8192)
towers = []
for n_row, n_feature in ((5_000_000, 64), (500_000, 256)):  # users, items
    ids = b.embedding(b.input(20, dtype="int64"), n_row, 128)  # the sum of 20 rows for each sample
    x = b.concat([ids, b.input(n_feature)], axis=1)
    for width in (1024, 1024):
        x = b.dense(x, width, activation=OpType.RELU)
    towers.append(b.dense(x, 128))
match = b.binary(OpType.MUL, *towers)
b.dense(match, 1, activation=OpType.SIGMOID)
graph = b.build()

table = roofline_table(graph, "a100", n_server=8)  # or read_measurement(path, batch_size=8192, n_server=8)
cluster = Cluster(8, link_bandwidth=gbps_to_bytes_per_s(25), latency=us_to_s(1), degree=4)
problem = make_problem(graph, table, cluster, CORRECTED)
found = find_plan(problem, Settings("topoopt", budget=500, seed=0, strided=True, propagation=True))

n_parameter = sum(weight.volume for op in graph.operators for weight in op.weights)
print(f"{graph.name}: {len(graph.operators)} operators, {n_parameter / 1e6:.0f} M parameters")
print(f"times are estimated: {table.source}")
print(f"data parallel {found.start_seconds * 1e3:.2f} ms, best {found.seconds * 1e3:.2f} ms")
for op, config in zip(graph.operators, found.plan.configs.values(), strict=True):
    print(f"  {op.name:<14} {op.key:<18} on servers", *config.devices)
print(f"topoopt: {found.topology.n_link} links, those of server 0 to", *found.topology.links[0].nonzero()[0])

with tempfile.TemporaryDirectory() as directory:
    strategy, taskgraph = Path(directory, "strategy.json"), Path(directory, "taskgraph.fbuf")
    strategy.write_bytes(found.plan.to_strategy_json())
    remarks = found.plan.write_taskgraph(taskgraph)
    file = read_taskgraph(taskgraph)
    print(f"strategy.json: {len(read_strategy(strategy))} operators")
    print(f"taskgraph.fbuf: {file.n_server} servers, {len(file.operators.name)} operators, {len(remarks)} remarks")
