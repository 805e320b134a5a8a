"""ResNet-50 on 8 servers: the task graph of the best plan as a file for the packet simulator, and read back."""

import tempfile
from pathlib import Path

import numpy as np

from flexnet import (
    ALLREDUCE,
    CORRECTED,
    MODELS,
    NOMINAL_COMM,
    Cluster,
    Settings,
    find_plan,
    gbps_to_bytes_per_s,
    make_problem,
    read_taskgraph,
    roofline_table,
    us_to_s,
)

graph = MODELS["resnet"].build({}, batch_size=512)
table = roofline_table(graph, "h100", n_server=8)
cluster = Cluster(8, link_bandwidth=gbps_to_bytes_per_s(25), latency=us_to_s(1), degree=4)
settings = Settings("random", budget=400, seed=1, strided=True, propagation=True)
found = find_plan(make_problem(graph, table, cluster, CORRECTED), settings)
print(f"{len(graph.operators)} operators; times are estimated: {table.source}")
print(f"data parallel {found.start_seconds * 1e3:.1f} ms, best {found.seconds * 1e3:.1f} ms")

tasks = found.plan.task_graph()
with tempfile.TemporaryDirectory() as directory:
    path = Path(directory, "taskgraph.fbuf")
    remarks = found.plan.write_taskgraph(path)
    file = read_taskgraph(path)
print(f"task graph: {tasks.n_task} tasks, of them {np.sum(tasks.kind == ALLREDUCE)} all-reduces")
print(f"            and {np.sum(tasks.kind == NOMINAL_COMM)} transfers; {len(remarks)} remarks")
print(f"read back:  {file.n_server} servers, {len(file.operators.name)} operators, {len(file.links)} pairs linked")
