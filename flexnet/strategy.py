"""Strategies: for every operator, a candidate config and the servers of its parts."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.problem import Problem

__all__ = ["Config", "Strategy", "configs_of", "make_strategy", "same_strategy"]


class Config(NamedTuple):
    """Degrees per dimension (innermost first) and the servers of the parts, part 0 first.

    Part indices are little-endian: dimension 0 varies fastest.
    """

    degrees: tuple[int, ...]
    devices: tuple[int, ...]


class Strategy(NamedTuple):
    """Arrays of a strategy: ``choice`` (n_op,) candidate per operator, ``devices`` (n_op, n_server) padded with -1."""

    choice: npt.NDArray[np.int64]
    devices: npt.NDArray[np.int64]


def make_strategy(problem: Problem, configs: list[Config]) -> Strategy:
    """Arrays of one config per operator.

    Raises
    ------
    FlexNetError
        If a config was not measured, names servers that do not exist, or puts two parts on one server.
    """
    n_op = len(problem.graph.operators)
    if len(configs) != n_op:
        raise FlexNetError(f"the strategy has {len(configs)} operators; model {problem.graph.name} has {n_op}")
    strategy = Strategy(np.zeros(n_op, np.int64), np.full((n_op, problem.cluster.n_server), -1, np.int64))
    for op, config in enumerate(configs):
        set_config(problem, strategy, op, config)
    return strategy


def set_config(problem: Problem, strategy: Strategy, op: int, config: Config) -> None:
    """Write one operator's config into a strategy's arrays (checked)."""
    name = problem.graph.operators[op].name
    choice = problem.choice_of(op, config.degrees)
    parts = int(problem.arrays.parts[problem.arrays.candidate_ptr[op] + choice])
    if len(config.devices) != parts:
        raise FlexNetError(f"operator {name} is cut into {parts} parts but has {len(config.devices)} devices")
    for device in config.devices:
        if not 0 <= device < problem.cluster.n_server:
            raise FlexNetError(
                f"operator {name} is placed on server {device}; servers are 0 to {problem.cluster.n_server - 1}"
            )
    if len(set(config.devices)) != parts:
        raise FlexNetError(f"operator {name} has two parts on one server: {list(config.devices)}")
    strategy.choice[op] = choice
    strategy.devices[op] = -1
    strategy.devices[op, :parts] = config.devices


def configs_of(problem: Problem, strategy: Strategy) -> list[Config]:
    """The config of every operator."""
    configs = []
    for op, choice in enumerate(strategy.choice):
        degrees = problem.candidates[op][int(choice)].degrees
        parts = int(problem.arrays.parts[problem.arrays.candidate_ptr[op] + choice])
        configs.append(Config(degrees, tuple(int(d) for d in strategy.devices[op, :parts])))
    return configs


def same_strategy(a: Strategy, b: Strategy) -> bool:
    """Whether two strategies cut and place every operator alike."""
    return np.array_equal(a.choice, b.choice) and np.array_equal(a.devices, b.devices)
