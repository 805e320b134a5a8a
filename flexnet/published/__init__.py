"""What was published, and whether flexnet computes the same: the storey behind ``flexnet validate``.

In comes a directory of measurements, task graphs, recorded costs and packet-level times, as the original's authors
published them; out comes one `case.Case` for each, with what flexnet computes beside it.  `validate` rebuilds task
graphs and re-prices recorded plans, `replays` replays task graphs whose times at packet level are known.  `index` says
of which model, flags and cluster every published file is (``published.json``), `recover` finds the strategy behind a
task graph.  May import everything but `flexnet.commands`; nothing else imports it.
"""
