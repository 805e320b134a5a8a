"""Figures of what a sweep found, as papers draw them.

`series` makes numbers of rows, `draw` a figure of numbers.  What comes in are rows (`flexnet.sweep.store.read_rows`);
what goes out are the bytes of an SVG, PDF or PNG file.  May import `flexnet.errors`.
"""
