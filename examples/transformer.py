"""A transformer on 8 servers joined at random, priced as the released FlexNet does and as the paper means it."""

from dataclasses import fields

from flexnet import (
    CORRECTED,
    MODELS,
    ORIGINAL,
    Cluster,
    Settings,
    find_plan,
    gbps_to_bytes_per_s,
    make_problem,
    roofline_table,
    us_to_s,
)

flags = {"--num-layers": "2", "--hidden-size": "512", "--num-heads": "8", "--sequence-length": "64"}
graph = MODELS["transformer"].build(flags, batch_size=512)
table = roofline_table(graph, "a100", n_server=8, big_gpu=4)
cluster = Cluster(
    8,
    big_gpu=4,  # four GPUs of a server act as one
    inter_gpu_bandwidth=gbps_to_bytes_per_s(200),
    link_bandwidth=gbps_to_bytes_per_s(25),
    latency=us_to_s(1),
    degree=4,
)
print(f"{len(graph.operators)} operators; times are estimated: {table.source}")

for semantics in (ORIGINAL, CORRECTED):
    problem = make_problem(graph, table, cluster, semantics)
    found = find_plan(problem, Settings("random", budget=300, strided=True, propagation=True))
    print(f"{semantics.name:<9} start {found.start_seconds * 1e3:.2f} ms, best {found.seconds * 1e3:.2f} ms")

differ = [f.name for f in fields(ORIGINAL)[1:] if getattr(ORIGINAL, f.name) != getattr(CORRECTED, f.name)]
print(f"they differ in {len(differ)} choices: {', '.join(differ)}")
