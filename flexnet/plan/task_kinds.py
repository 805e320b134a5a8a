"""Kinds of tasks, numbered as in the packet simulator's files (``SimTaskType`` in schemas/taskgraph.fbs)."""

__all__ = ["ALLREDUCE", "BACKWARD", "FORWARD", "NOMINAL_COMM"]

FORWARD = 0
"""The forward pass of a part, on its server."""
BACKWARD = 1
"""The backward pass of a part, on its server."""
NOMINAL_COMM = 5
"""A transfer between two servers."""
ALLREDUCE = 6
"""An all-reduce over a group of servers."""
