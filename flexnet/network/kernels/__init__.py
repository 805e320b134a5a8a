"""Compiled loops over networks: `routes`, `cycles` and `tours`, with the random numbers of `xorshift`."""
