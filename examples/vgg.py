"""VGG-16 on five random graphs: how much luck there is in one; and on a network built for the model."""

from flexnet import (
    CORRECTED,
    MODELS,
    Cluster,
    Settings,
    find_plan,
    gbps_to_bytes_per_s,
    make_problem,
    roofline_table,
    us_to_s,
)

graph = MODELS["vgg"].build({}, batch_size=512)
table = roofline_table(graph, "a100", n_server=8)
cluster = Cluster(8, link_bandwidth=gbps_to_bytes_per_s(40), latency=us_to_s(1), degree=4)
problem = make_problem(graph, table, cluster, CORRECTED)
print(f"{len(graph.operators)} operators; times are estimated: {table.source}")

for topology, seeds in (("random", range(5)), ("topoopt", range(1))):
    for seed in seeds:
        found = find_plan(problem, Settings(topology, budget=200, seed=seed, strided=True, propagation=True))
        print(
            f"{topology:<8} seed {seed}: data parallel {found.start_seconds * 1e3:6.1f} ms, "
            f"best {found.seconds * 1e3:6.1f} ms"
        )
print("topoopt links per server:", *found.topology.links.sum(axis=1))
