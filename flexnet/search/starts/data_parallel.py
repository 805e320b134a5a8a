"""Data parallelism."""

from typing import ClassVar

import numpy as np

from flexnet.cost.coverage import data_parallel_servers
from flexnet.model.cutting import batch_degrees
from flexnet.model.graph import Operator
from flexnet.model.operators import kind_of
from flexnet.network.family import TopologyFamily
from flexnet.plan.strategy import Config, Strategy, configs_of
from flexnet.search.moves.space import MoveSpace
from flexnet.search.starts.start import Start, StartPoints

__all__ = ["DataParallel", "data_parallel", "not_data_parallel", "servers_of"]


class DataParallel(Start):
    """No other strategy than `data_parallel`."""

    name: ClassVar[str] = "data-parallel"

    def points(
        self, space: MoveSpace, family: TopologyFamily, memory_limit: float | None, rng: np.random.Generator
    ) -> StartPoints:
        """None but data parallelism, which is always there."""
        return StartPoints(())


def servers_of(space: MoveSpace) -> int:
    """Servers that `data_parallel` is over: all, or as many as can be where micro-batches are too small for that."""
    problem = space.problem
    n_server = problem.cluster.n_server
    return n_server if problem.micro_batches == 1 else data_parallel_servers(problem.graph, space.degrees, n_server)


def data_parallel(rng: np.random.Generator, space: MoveSpace) -> list[Config]:
    """Data parallelism over as many as `servers_of` tells, embeddings round all servers (simulator.cu:372)."""
    problem = space.problem
    n_server = problem.cluster.n_server
    n_parallel = servers_of(space)
    configs = []
    n_whole = 0
    for op in problem.graph.operators:
        if kind_of(op).whole:
            choice, devices = space.random_config(rng, op.index)
            home = n_whole % n_server
            if home in devices:
                devices.remove(home)
                devices.insert(0, home)
            else:
                devices[0] = home
            n_whole += 1
            configs.append(Config(space.degrees[op.index][choice], tuple(devices)))
        else:
            configs.append(Config(batch_degrees(op.rank, n_parallel), tuple(range(n_parallel))))
    return configs


def not_data_parallel(strategy: Strategy, space: MoveSpace) -> tuple[tuple[Operator, Config], ...]:
    """Operators that are not as in data parallelism with embeddings dealt round the servers, and their configs."""
    problem = space.problem
    # Which generator does not matter: an embedding's only degree is 1, and its server is set.
    parallel = data_parallel(np.random.default_rng(0), space)
    configs = configs_of(problem, strategy)
    return tuple(
        (op, config)
        for op, config, other in zip(problem.graph.operators, configs, parallel, strict=True)
        if config.degrees != other.degrees or set(config.devices) != set(other.devices) or config.after is not None
    )
