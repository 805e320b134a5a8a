"""Inception v3 on 8 servers: at what bandwidth of a fat-tree its time is computing time, and watching a search."""

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

graph = MODELS["inception"].build({}, batch_size=256)
table = roofline_table(graph, "h200", n_server=8)
settings = Settings("fattree", budget=60, strided=True, propagation=True)
print(f"{len(graph.operators)} operators; times are estimated: {table.source}")


def observe(progress, state, info):
    """Count: this is called after every proposal."""
    global accepted
    accepted += info.accepted


for gbps in (10, 40, 160):
    cluster = Cluster(8, link_bandwidth=gbps_to_bytes_per_s(gbps), latency=us_to_s(1))
    accepted = 0
    found = find_plan(make_problem(graph, table, cluster, CORRECTED), settings, observe=observe)
    print(f"{gbps:3d} Gbps: data parallel {found.start_seconds * 1e3:5.1f} ms, best {found.seconds * 1e3:5.1f} ms")

print(f"of the last {found.iterations} proposals, {accepted} were accepted")
