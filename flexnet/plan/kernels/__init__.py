"""Compiled loops that lay out a strategy's tasks: `build`, with `sharing`, `transfers`, `turns` and `records`."""
