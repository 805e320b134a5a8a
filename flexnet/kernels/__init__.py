"""Compiled loops.  Functions that call each other live in one file, or stale machine code would be reused."""
