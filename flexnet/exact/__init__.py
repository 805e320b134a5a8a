"""Exact search by dynamic programming: the least of a sum of cost tables, proven, for models whose costs add up.

In come the tables of a graph of choices (`tables`): of PaSE's cost model (`pase`, by `domain`, `configs` and
`operator_cost`) or of measured operators on a cluster (`terms`).  Out go the selection with the least cost (`solver`:
pruned by `prune`, ordered by `order`, a vertex at a time by `eliminate`), all trade-offs of time and memory
(`frontier`), and a lower bound on any plan of a search (`bound`: weights, by `game`, of the terms in `windows`, which
are sums of `needs`).  `baseline` has strategies to compare with.  Nothing
is simulated here.  May import `flexnet.network` and what lies below it.
"""
