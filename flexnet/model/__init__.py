"""Models before anything is cut: tensors, operators and graphs, what is known of every kind of operator, and the zoo.

In come sizes as users give them, batch first; out goes a `flexnet.model.graph.ModelGraph`, which all other rooms read.
`flexnet.model.builder` makes one layer by layer, `flexnet.model.zoo` the models that have a name,
`flexnet.model.operators` says of each kind of operator what it computes, moves and holds and how it may be cut, and
`flexnet.model.cutting` does that to tensors.  Nothing here knows of servers, times or files, and nothing is imported
but `flexnet.errors` and `flexnet.units`: no numpy, for ``flexnet --help`` must answer at once.
"""
