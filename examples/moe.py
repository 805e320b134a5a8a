"""A mixture of experts on 16 servers: every topology flexnet knows, and the traffic of the best plan on each."""

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

graph = MODELS["moe"].build({}, batch_size=5120)
table = roofline_table(graph, "a100", n_server=16)
cluster = Cluster(16, link_bandwidth=gbps_to_bytes_per_s(1), latency=us_to_s(1), degree=4)
problem = make_problem(graph, table, cluster, CORRECTED)
print(f"{len(graph.operators)} operators; times are estimated: {table.source}")

for topology in ("topoopt", "random", "fattree", "fc"):
    found = find_plan(problem, Settings(topology, budget=300, strided=True, propagation=True))
    allreduce, model_parallel = found.plan.traffic
    print(
        f"{topology:<8} start {found.start_seconds * 1e3:4.1f} ms, best {found.seconds * 1e3:4.1f} ms, "
        f"{allreduce / 1e6:.1f} MB all-reduce, {model_parallel / 1e6:.1f} MB model-parallel"
    )
