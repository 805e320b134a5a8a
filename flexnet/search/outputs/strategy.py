"""Strategy files."""

from pathlib import Path

from flexnet.errors import counted
from flexnet.files import write_atomically
from flexnet.search.outputs.output import Output
from flexnet.search.plan import Plan

__all__ = ["StrategyJson", "StrategyText"]


class StrategyJson(Output):
    """flexnet's JSON, with where the times behind it come from."""

    def write(self, plan: Plan, path: Path) -> tuple[str, ...]:
        """Write the config of every operator."""
        write_atomically(path, plan.to_strategy_json())
        return ()


class StrategyText(Output):
    """The original's text format."""

    def write(self, plan: Plan, path: Path) -> tuple[str, ...]:
        """Write the config of every operator."""
        write_atomically(path, plan.to_strategy_text().encode())
        n_late = sum(config.after is not None for config in plan.configs.values())
        if not n_late:
            return ()
        return (
            f"the original's text format cannot say that the gradients of {counted(n_late, 'operator')} wait for "
            "others; a file that ends in .json can",
        )
