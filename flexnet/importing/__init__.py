"""Models of other programs: PyTorch modules and ONNX files become model graphs, without a GPU and without weights.

In comes a `torch.nn.Module` on any device (on ``meta`` it takes no memory) with inputs of the shapes it is trained on,
or an ``.onnx`` file; out goes a `flexnet.model.graph.ModelGraph` with its counts (`graphs.Imported`).  `export` has
PyTorch trace a module; `aten`, with the tables beside it, reads what comes of that, and `onnx_nodes` the nodes of a
file: views are followed (`values`), all else becomes a step (`steps`).  `fuse` puts steps together, `patterns` knows
layers in them, `emit` makes operators.  May import `flexnet.model`, and in the files that need it torch or onnx.
"""
