"""Costs of operators: which configs of each are measured, and how long a part takes and what memory it needs.

In comes a model graph (`flexnet.model`) with servers and flags; out goes a `flexnet.cost.table.CostTable`, whether
read from a measurement file (`flexnet.cost.measurement_file`) or estimated from a GPU's data sheet
(`flexnet.cost.roofline`).  `configs` says how operators may be cut, `parts` what one part of them is, `shapes` and
`shape_names` what a model has to be measured of and under which names, `coverage` whether a table has what a search
needs.  Inside, times are seconds and memory is bytes; a file's milliseconds end at its reader.  May import
`flexnet.model`, `flexnet.files`, `flexnet.errors` and `flexnet.units`, and never PyTorch.
"""
