"""Sweeps: many points, each computed once, wherever there is a processor for it.

`sweep_file` reads a TOML file and checks it, `store` keeps finished points under the hash of all that decides them, so
that none is computed again, `local` computes them in processes of this machine and `cluster` on one of Dask's, and
`worker` is what runs there.  A point is JSON and its row is JSON: what a point means, and how its row comes about, is
the business of a function that is named to the worker.  May import `flexnet.files` and `flexnet.errors`.
"""
