"""What servers send each other."""

from flexnet.report.drawings import draw_demand
from flexnet.report.page import Columns, Figure, Section
from flexnet.report.values import Floats, RunValues
from flexnet.units import bytes_text

__all__ = ["demand_section"]


NOTHING = "Servers send each other nothing."


def demand_section(values: RunValues) -> Section:
    """Heat maps of all-reduces and transfers, apart."""
    lead = (
        f"In an iteration, all-reduces send {bytes_text(values.allreduce_bytes)} along their rings, and operators "
        f"{bytes_text(values.transfer_bytes)} to each other."
    )
    maps: list[Figure] = []
    for what, matrix, colour, name in (
        ("All-reduces", values.allreduce, "allreduce", "demand-allreduce"),
        ("Transfers", values.transfers, "transfer", "demand-transfers"),
    ):
        if matrix.any():
            maps.append(_map(what, matrix, colour, name, values.block))
    return (
        Section("demand", "Demand", lead, (Columns(tuple((one,) for one in maps)),))
        if maps
        else Section("demand", "Demand", NOTHING)
    )


def _map(what: str, matrix: Floats, colour: str, name: str, block: int) -> Figure:
    each = "server" if block == 1 else f"block of {block} servers"
    row, column = divmod(int(matrix.argmax()), len(matrix))
    cells = f"{row} to {column}" if block == 1 else f"blocks {row} to {column}"
    words = f"Most, {bytes_text(float(matrix.max()))}, from {cells}; {int((matrix > 0).sum())} of {matrix.size} cells."
    return Figure(
        f"{what}: bytes from every {each} to every other", draw_demand(matrix, block, colour, name, words), most=480
    )
