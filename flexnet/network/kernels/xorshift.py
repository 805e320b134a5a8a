"""A 32-bit xorshift (G. Marsaglia, Xorshift RNGs, J. Stat. Soft. 8 (2003)) in 64-bit integers.

It never overflows, so compiled and interpreted runs draw the same numbers.  It is compiled into those that call it, who
do not notice if this file changes: see `flexnet.kernels`.
"""

from numba import njit

__all__ = ["draw"]

MASK = 0xFFFFFFFF


@njit(cache=True, inline="always")
def draw(state):  # type: ignore[no-untyped-def]
    """Next state in 1..2**32-1, which is the random number too."""
    state ^= (state << 13) & MASK
    state ^= state >> 17
    state ^= (state << 5) & MASK
    return state
