"""Measures operators with PyTorch: the only room that imports torch, and only when a profile is made.

In come the shapes of a model (`flexnet.cost.shapes`) and a device; out goes a cost table of measured times.
`measure` goes through all configs and keeps each result in a `journal`, from which an interrupted profile goes on;
`reuse` takes what other files have of the same parts;
`operators` is every kind of operator in PyTorch, `timing` decides how often a pass is repeated, `device` is what a
device must do, `cpu` and `cuda` (with `nvidia_smi`) do it, warmed up.  May import `flexnet.cost`, `flexnet.model` and
what is below them.
"""
