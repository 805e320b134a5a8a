"""DLRM on 8 servers: a network built for its traffic beside a fat-tree and a random graph of equal interfaces."""

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

N_SERVER, DEGREE, GBPS = 8, 4, 25

flags = {
    "--arch-sparse-feature-size": "128",
    "--arch-embedding-size": "-".join(["1000000"] * 8),
    "--embedding-bag-size": "50",
    "--arch-mlp-bot": "1024-1024-1024",
    "--arch-mlp-top": "1024-1024-1024-1",  # the first width is ignored: it follows from what is joined
}
graph = MODELS["dlrm"].build(flags, batch_size=8192)
table = roofline_table(graph, "a100", n_server=N_SERVER)
print(f"{len(graph.operators)} operators; times are estimated: {table.source}")

best = {}
for topology, gbps in (("topoopt", GBPS), ("random", GBPS), ("fattree", GBPS), ("fattree", GBPS * DEGREE)):
    cluster = Cluster(N_SERVER, link_bandwidth=gbps_to_bytes_per_s(gbps), latency=us_to_s(1), degree=DEGREE)
    problem = make_problem(graph, table, cluster, CORRECTED)
    found = find_plan(problem, Settings(topology, budget=300, seed=0, strided=True, propagation=True))
    n_interface = 1 if topology == "fattree" else DEGREE
    name = f"{topology}, {n_interface} x {gbps} Gbps"
    print(f"{name:<22} start {found.start_seconds * 1e3:5.1f} ms, best {found.seconds * 1e3:5.1f} ms")
    best[name] = found

found = best["topoopt, 4 x 25 Gbps"]
print("links of server 0 in topoopt:", *found.topology.links[0].nonzero()[0])
for name, config in found.plan.configs.items():
    if name.startswith("Embedding"):
        print(f"{name} on server {config.devices[0]}")
