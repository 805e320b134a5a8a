"""A found plan changed by hand: one operator cut otherwise, priced on the same network, replayed on others."""

from flexnet import (
    CORRECTED,
    MODELS,
    Cluster,
    Config,
    Settings,
    build_network,
    find_plan,
    make_problem,
    price,
    replay,
    roofline_table,
)

graph = MODELS["alexnet"].build({}, batch_size=1024)
cluster = Cluster(8, link_bandwidth=1.25e9, latency=1e-6, degree=4)  # bytes/s and seconds
problem = make_problem(graph, roofline_table(graph, "a100", n_server=8), cluster, CORRECTED)
found = find_plan(problem, Settings("topoopt", budget=300, seed=0))

strategy = found.plan.with_config("Dense_109", Config(degrees=(1, 8), devices=tuple(range(8))))  # batch over all
mine = price(problem, strategy, found.plan.network)  # the same links, rings and routes
print(f"found {found.seconds * 1e3:.1f} ms, mine {mine.seconds * 1e3:.1f} ms on the same network")

for topology in ("fattree", "random"):
    network = build_network(topology, cluster)
    theirs, ours = (replay(plan.task_graph(), network) for plan in (found.plan, mine))
    print(f"{topology:<8} found {theirs.seconds * 1e3:6.1f} ms, mine {ours.seconds * 1e3:6.1f} ms")
print(mine.summary().split("\n")[2])
