"""What servers hold."""

import numpy as np

from flexnet.report.drawings import draw_memory
from flexnet.report.page import Figure, Section
from flexnet.report.values import RunValues
from flexnet.units import bytes_text

__all__ = ["memory_section"]


def memory_section(values: RunValues) -> Section:
    """Memory of every server."""
    memory, limit = values.memory, values.memory_limit
    fullest = int(memory.argmax())
    most, median = bytes_text(float(memory[fullest])), bytes_text(float(np.median(memory)))
    who = f"The fullest server, {fullest}, holds {most}, the median one {median}"
    if memory.min() == memory.max():
        who = f"Every server holds {most}"
    lead = f"{who}: weights, activations, and the gradients of both."
    if limit is not None:
        lead += f" All GPUs of a server have {bytes_text(limit)}."
    words = f"From {bytes_text(float(memory.min()))} to {bytes_text(float(memory.max()))}."
    return Section(
        "memory", "Memory", lead, (Figure("Bytes on every server", draw_memory(memory, limit, words), (), 560),)
    )
