"""Exact search by dynamic programming: cost tables, elimination, and what is built on them."""
