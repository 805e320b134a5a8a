"""Plans: how a model is cut over the servers of a cluster, and the tasks that makes of a training iteration.

In come a model graph, a `flexnet.cost.table.CostTable`, a `cluster` and `semantics` (whose rules: ours, or the
original's); `problem` makes arrays of them, with every config an operator may have.  Out go a `strategy` (one config an
operator; files of it: `strategy_file`), its `task_graph` (made by `task_graph_builder`, whose loops are in `kernels`;
in which order it sends: `transfer_order`, `turns`), the bytes it sends (`traffic`) and the memory it needs (`memory`).
Nothing here knows of links: who is wired to whom is `flexnet.network`'s, and how long an iteration takes is
`flexnet.simulate`'s.  May import `flexnet.model` and `flexnet.cost`.
"""
