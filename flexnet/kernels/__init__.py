"""Compiled loops.  Kernels that call kernels of other files are compiled with `flexnet.kernels.jit.kernel`."""
