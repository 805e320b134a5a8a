"""Task graph files: what leaves flexnet for the packet simulator, and comes back for a replay.

In comes a `flexnet.plan.task_graph.TaskGraph` on a `flexnet.network.network.Network`, out goes a flatbuffer of
``schemas/taskgraph.fbs`` (`write`: what it holds by `columns`, bytes by `encode` as the tables in `layout` say); and
the other way round (`read`: bytes are proven sound by `verify`; graph and network of them by `convert`, which starts
tasks in the packet simulator's order, `root_order`).
`contents` is what a file says, `check` and `check_network` are all that the packet simulator would hang or fail on.
``_taskgraph_fb`` is generated from the schema.  May import `flexnet.plan` and `flexnet.network`, and what lies below.
"""
