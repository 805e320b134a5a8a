"""Compiled loops over networks: `routes`, `cycles`, `tours` and `shares`, with the random numbers of `xorshift`."""
