"""CANDLE Uno on 8 servers: how much each pair of interfaces more is worth."""

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

graph = MODELS["candle_uno"].build({"--dense-layers": "4096-4096-1", "--dense-feature-layers": "4096-4096"}, 4096)
table = roofline_table(graph, "v100", n_server=8)
print(f"{len(graph.operators)} operators; times are estimated: {table.source}")

for degree in (2, 4, 6):
    cluster = Cluster(8, link_bandwidth=gbps_to_bytes_per_s(25), latency=us_to_s(1), degree=degree)
    problem = make_problem(graph, table, cluster, CORRECTED)
    found = find_plan(problem, Settings("topoopt", budget=800, strided=True, propagation=True))
    print(f"degree {degree}: {found.seconds * 1e3:6.1f} ms on {found.topology.n_link} links")
