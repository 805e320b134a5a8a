"""Kinds of tasks, numbered as in the packet simulator's files (``SimTaskType`` in schemas/taskgraph.fbs)."""

__all__ = ["ALLREDUCE", "BACKWARD", "FORWARD", "NOMINAL_COMM"]

FORWARD, BACKWARD, NOMINAL_COMM, ALLREDUCE = 0, 1, 5, 6
