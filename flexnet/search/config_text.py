"""How an operator is cut and placed, in words."""

from collections.abc import Sequence

from flexnet.errors import counted
from flexnet.model.graph import Operator
from flexnet.model.operators import kind_of
from flexnet.plan.strategy import Config

__all__ = ["config_text", "cut_text", "numbers_text", "servers_text", "waiting_text"]

_SHOWN_SERVERS = 16


def config_text(op: Operator, config: Config) -> str:
    """Parts, how they are cut if not along the batch alone, their servers, and what their gradients wait for."""
    cut = cut_text(op, config)
    parts = f"{counted(len(config.devices), 'part')}{f' ({cut})' if cut else ''}"
    return f"{parts} on {servers_text(config)}{waiting_text(config)}"


def waiting_text(config: Config) -> str:
    """What the gradients wait for before they are reduced, if they do: ``, reduced after Dense_107``."""
    return "" if config.after is None else f", reduced after {config.after}"


def cut_text(op: Operator, config: Config) -> str:
    """The dimensions that are cut, if not the batch alone: ``sample 2 x reduction 8``."""
    if config.degrees[op.rank - 1] >= len(config.devices):
        return ""
    axes = kind_of(op).axes(op)
    names = {k: axis.name.lower() for k, axis in axes.items()}
    return " x ".join(
        f"{names.get(k, f'dimension {k}')} {degree}" for k, degree in enumerate(config.degrees) if degree > 1
    )


def servers_text(config: Config) -> str:
    """Servers of the parts in their order, of many the first."""
    return f"server{'s' if len(config.devices) > 1 else ''} {numbers_text(config.devices)}"


def numbers_text(servers: Sequence[int]) -> str:
    """Numbers of servers, of many the first."""
    return " ".join(map(str, servers[:_SHOWN_SERVERS])) + (" ..." if len(servers) > _SHOWN_SERVERS else "")
