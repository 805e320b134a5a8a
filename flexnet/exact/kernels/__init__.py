"""Compiled loops of exact search and of bounds: `pairs`, `choices` and `plans`."""
