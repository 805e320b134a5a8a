"""AlexNet on 8 servers: a strategy goes out in both formats and comes back as the start of a second search."""

import tempfile
from pathlib import Path

from flexnet import (
    CORRECTED,
    MODELS,
    Cluster,
    Settings,
    find_plan,
    gbps_to_bytes_per_s,
    make_problem,
    read_strategy,
    roofline_table,
    us_to_s,
)

graph = MODELS["alexnet"].build({}, batch_size=1024)
table = roofline_table(graph, "a100", n_server=8)
cluster = Cluster(8, link_bandwidth=gbps_to_bytes_per_s(10), latency=us_to_s(1))
problem = make_problem(graph, table, cluster, CORRECTED)
first = find_plan(problem, Settings("fattree", budget=300, strided=True, propagation=True))
print(f"{len(graph.operators)} operators; times are estimated: {table.source}")
print(f"fat-tree: data parallel {first.start_seconds * 1e3:.1f} ms, best {first.seconds * 1e3:.1f} ms")
for name, config in first.plan.configs.items():
    print(f"  {name:<12} on servers", *config.devices)

with tempfile.TemporaryDirectory() as directory:
    ours, theirs = Path(directory, "strategy.json"), Path(directory, "strategy.txt")
    ours.write_bytes(first.plan.to_strategy_json())
    theirs.write_text(first.plan.to_strategy_text())  # as the original's --export
    kept = [{name: (c.degrees, c.devices) for name, c in read_strategy(path).items()} for path in (ours, theirs)]
    print("both formats hold the same cuts and servers:", kept[0] == kept[1])
    start = read_strategy(ours)

second = find_plan(problem, Settings("topoopt", budget=3000, strided=True, propagation=True), start)
print(f"topoopt from there: {second.start_seconds * 1e3:.1f} ms, best {second.seconds * 1e3:.1f} ms")
