"""Strategies: for every operator, a candidate config and the servers of its parts."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from flexnet.errors import FlexNetError
from flexnet.model.graph import ModelGraph
from flexnet.plan.arrays import Strategy
from flexnet.plan.problem import Problem

__all__ = ["Config", "Configs", "Strategy", "configs_of", "make_strategy", "order_configs", "same_strategy"]


_LARGE = 2**16  # bytes: of less, two copies are compared in a tenth of the time that NumPy takes for the arrays


class Config(NamedTuple):
    """Degrees per dimension (innermost first, a reduction last if there is one) and the servers of the parts.

    Part 0 comes first.  Part indices are little-endian: dimension 0 varies fastest, a reduction slowest.  Gradients of
    weights are reduced as soon as they are there or, if ``after`` names an operator, not before its backward pass has
    ended: what waits leaves links to transfers that others wait for.
    """

    degrees: tuple[int, ...]
    devices: tuple[int, ...]
    after: str | None = None


Configs = Sequence[Config] | Mapping[str, Config]
"""A config for every operator: in model order, or by operator name."""


def make_strategy(problem: Problem, configs: Configs) -> Strategy:
    """Arrays of one config per operator.

    Parameters
    ----------
    problem : Problem
    configs : sequence of Config, or mapping
        In model order, or by operator name.

    Raises
    ------
    FlexNetError
        If an operator has no config or is unknown, or a config was not measured, names servers or an operator that do
        not exist, or puts two parts on one server.
    """
    if isinstance(configs, Mapping):
        configs = order_configs(problem.graph, configs, "the strategy")
    n_op = len(problem.graph.operators)
    if len(configs) != n_op:
        raise FlexNetError(f"the strategy has {len(configs)} operators; model {problem.graph.name} has {n_op}")
    devices = np.full((n_op, problem.cluster.n_server), -1, np.int64)
    strategy = Strategy(np.zeros(n_op, np.int64), devices, np.full(n_op, -1, np.int64))
    for op, config in enumerate(configs):
        set_config(problem, strategy, op, config)
    return strategy


def set_config(problem: Problem, strategy: Strategy, op: int, config: Config) -> None:
    """Write one operator's config into a strategy's arrays (checked)."""
    name = problem.graph.operators[op].name
    choice = problem.choice_of(op, tuple(config.degrees))
    parts = int(problem.arrays.parts[problem.arrays.candidate_ptr[op] + choice])
    if len(config.devices) != parts:
        raise FlexNetError(f"operator {name} is cut into {parts} parts but has {len(config.devices)} devices")
    for device in config.devices:
        if not isinstance(device, int | np.integer) or isinstance(device, bool):
            raise FlexNetError(f"operator {name} is placed on server {device!r}; servers are whole numbers")
        if not 0 <= device < problem.cluster.n_server:
            raise FlexNetError(
                f"operator {name} is placed on server {device}; servers are 0 to {problem.cluster.n_server - 1}"
            )
    if len(set(config.devices)) != parts:
        raise FlexNetError(f"operator {name} has two parts on one server: {list(config.devices)}")
    strategy.choice[op] = choice
    strategy.devices[op] = -1
    strategy.devices[op, :parts] = config.devices
    strategy.after[op] = -1 if config.after is None else _operator(problem.graph, config.after, name)


def _operator(graph: ModelGraph, name: str, waiting: str) -> int:
    """The number of the operator that the gradients of another wait for."""
    found = next((op.index for op in graph.operators if op.name == name), None)
    if found is None:
        raise FlexNetError(f"operator {waiting} is reduced after {name!r}, which model {graph.name} does not have")
    if name == waiting:
        raise FlexNetError(f"operator {waiting} is reduced after itself; name another, or none")
    return found


def configs_of(problem: Problem, strategy: Strategy) -> list[Config]:
    """The config of every operator."""
    configs = []
    for op, choice in enumerate(strategy.choice):
        degrees = problem.candidates[op][int(choice)].degrees
        parts = int(problem.arrays.parts[problem.arrays.candidate_ptr[op] + choice])
        after = int(strategy.after[op])
        name = problem.graph.operators[after].name if after >= 0 else None
        configs.append(Config(degrees, tuple(int(d) for d in strategy.devices[op, :parts]), name))
    return configs


def same_strategy(a: Strategy, b: Strategy) -> bool:
    """Whether two strategies cut and place every operator alike, and reduce its gradients after the same one."""
    if a.devices.nbytes > _LARGE:
        return all(np.array_equal(mine, theirs) for mine, theirs in zip(a, b, strict=True))
    return all(mine.tobytes() == theirs.tobytes() for mine, theirs in zip(a, b, strict=True))


def order_configs(graph: ModelGraph, configs: Mapping[str, Config], source: str) -> list[Config]:
    """Configs in model order.

    Raises
    ------
    FlexNetError
        If operators are missing, unknown, or of another rank: the strategy is for another model.
    """
    names = {op.name for op in graph.operators}
    for name in configs:
        if name not in names:
            raise FlexNetError(
                f"{source} has operator {name}, which model {graph.name} does not; it is for another model"
            )
    ordered = []
    for op in graph.operators:
        if op.name not in configs:
            raise FlexNetError(f"{source} has no operator {op.name} of model {graph.name}; it is for another model")
        config = configs[op.name]
        if len(config.degrees) not in (op.rank, op.rank + 1):
            raise FlexNetError(
                f"{source} cuts operator {op.name} in {len(config.degrees)} dimensions; "
                f"model {graph.name} has {op.rank}"
            )
        ordered.append(config)
    return ordered
