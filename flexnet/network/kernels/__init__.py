"""Compiled loops over networks: `routes`, `cycles`, `tours` and `shares`, with the random numbers of `xorshift`.

Kernels that every search needs copy arrays element by element: to assign one to a slice of another, Numba compiles what
formats an error for shapes that differ, which takes more than a second in each kernel.
"""
