# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Which network for this model, and this money?
#
# A model is built, and searched on a network of links between servers and on a fat-tree that costs as much. The plan
# of one is replayed on the other, and what bandwidth brings on either is drawn.

# %%
from pathlib import Path

from flexnet import (
    CORRECTED,
    MODELS,
    Cluster,
    Fabric,
    Interfaces,
    Measured,
    Settings,
    build_network,
    equal_interfaces,
    gbps_to_bytes_per_s,
    make_problem,
    measure,
    read_prices,
    replay,
    roofline_table,
    us_to_s,
)
from flexnet.plot.draw import draw
from flexnet.plot.series import panels_of

SERVERS = 8

# %% [markdown]
# ## Build
#
# A model is a graph of operators; what they take is estimated here for an A100, and measured on your hardware by
# `flexnet profile`.

# %%
graph = MODELS["alexnet"].build({}, batch_size=1024)
table = roofline_table(graph, "a100", n_server=SERVERS)
weights = sum(weight.volume for op in graph.operators for weight in op.weights)
print(f"{graph.name}: {len(graph.operators)} operators, {weights / 1e6:.1f} M parameters")

# %% [markdown]
# ## The same money
#
# Four interfaces of 100 Gbps, linked directly over a patch panel; and what their price buys of a fat-tree.

# %%
prices = read_prices()
asked = Interfaces(4, 100.0)
direct, switched = Fabric("topoopt", SERVERS), Fabric("fattree", SERVERS)
money = direct.bill(asked).dollars(prices)
bought = equal_interfaces(switched, asked, "cost", prices, money)
print(f"${money:,.0f} is {asked} a server linked directly, or {bought} a server of a fat-tree")

# %% [markdown]
# ## Search


# %%
def search(name: str, gbps: float) -> Measured:
    """Find a plan on a network of this name, whose links have so many Gbps."""
    cluster = Cluster(SERVERS, link_bandwidth=gbps_to_bytes_per_s(gbps), latency=us_to_s(1.0), degree=asked.count)
    return measure(make_problem(graph, table, cluster, CORRECTED), Settings(name, budget=200))


found = {"topoopt": search("topoopt", asked.gbps), "fattree": search("fattree", bought.total_gbps)}
for name, one in found.items():
    assert one.bound is not None
    print(f"{name}: {one.seconds * 1e3:.2f} ms, {one.seconds / one.bound:.2f}x the bound, tax {one.bandwidth_tax:.2f}")

# %% [markdown]
# ## Replay
#
# What would the plan of one network take on the other?

# %%
plan = found["topoopt"].found.plan
other = Cluster(SERVERS, link_bandwidth=gbps_to_bytes_per_s(bought.total_gbps), latency=us_to_s(1.0))
moved = replay(plan.task_graph(), build_network("fattree", other))
print(f"the plan for topoopt takes {moved.seconds * 1e3:.2f} ms on the fat-tree")

# %% [markdown]
# ## Plot
#
# The figures of `flexnet plot` are drawn from rows, wherever these are from.

# %%
rows = [
    {"topology": name, "bandwidth": gbps, "iteration_ms": search(name, gbps * share).seconds * 1e3}
    for name, share in (("topoopt", 1.0), ("fattree", bought.total_gbps / asked.gbps))
    for gbps in (40.0, 100.0, 200.0)
]
panels = panels_of(rows, "bandwidth", "iteration_ms", ["topology"], None)
figure = draw("line", panels, "bandwidth", "iteration_ms", title="AlexNet, the same money", log=False, suffix=".svg")
Path("which_network.svg").write_bytes(figure)
print(f"drew {len(rows)} points")
