"""What a search found: the figures, the sentences a person reads, and the document ``run.json`` holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from flexnet.config import RunConfig
from flexnet.graph import Operator
from flexnet.machine import GPUS
from flexnet.progress import duration_text
from flexnet.search.alternate import Plan
from flexnet.search.driver import Outcome
from flexnet.search.find import Prepared
from flexnet.search.moves import initial_strategy
from flexnet.simulate import Timeline
from flexnet.strategy import Config, configs_of, same_strategy
from flexnet.topology import Topology
from flexnet.traffic import traffic_bytes
from flexnet.units import s_to_ms
from flexnet.wording import counted

__all__ = ["Result", "describe_problem", "describe_result", "judge", "result_document"]

SHOWN_OPERATORS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """The better one of the best plan found and the plan a search started from.

    Parameters
    ----------
    plan : Plan
    configs : list of Config
        Of every operator.
    timeline : Timeline
        Its times, at full resolution.
    initial_seconds : float
        Iteration time of the starting plan, at full resolution.
    searched_seconds, initial_searched_seconds : float
        Times of both plans as proposals were priced.
    replayed_seconds, initial_replayed_seconds : float
        Times of both plans at packet level, whatever the semantics.
    changed : list of (Operator, Config)
        Operators that are not as in data parallelism with embeddings dealt round the servers.
    group_sizes : tuple of int
        Servers of all-reduces, ascending, without repetition.
    bytes_allreduce : float
        Bytes all-reduces move between servers in an iteration, by rings.
    bytes_model_parallel : int
        Bytes of all other transfers between servers.
    iterations : int
        Proposals made.
    search_s : float
        Seconds spent proposing.
    interrupted : bool
    improved_at : int or None
        Proposals made when the best plan was found, by their coarser prices; None if none was better.
    memory : float
        Bytes the fullest server needs, on all its GPUs together.
    only_routes : bool
        Whether strategy and links are those the search started from, with other rings or routes.
    """

    plan: Plan
    configs: list[Config]
    timeline: Timeline
    initial_seconds: float
    searched_seconds: float
    initial_searched_seconds: float
    replayed_seconds: float
    initial_replayed_seconds: float
    changed: list[tuple[Operator, Config]]
    group_sizes: tuple[int, ...]
    bytes_allreduce: float
    bytes_model_parallel: int
    iterations: int
    search_s: float
    interrupted: bool
    improved_at: int | None
    memory: float
    only_routes: bool


def judge(ready: Prepared, initial: Timeline, outcome: Outcome, earlier_s: float) -> Result:
    """Price the best plans at full resolution and keep the fastest if it is faster than the start.

    Parameters
    ----------
    ready : Prepared
        Its state is the start.
    initial : Timeline
        The starting plan at full resolution.
    outcome : Outcome
        How the search ended.
    earlier_s : float
        Seconds spent proposing before it was resumed.
    """
    start, pricer = ready.state.current, ready.search.pricer
    plan, timeline = ready.faster(outcome.state, initial)
    replayed, initial_replayed = timeline.seconds, initial.seconds
    if not ready.problem.semantics.fair_links:
        replayed = pricer.replayed(plan.strategy, plan.network)
        initial_replayed = pricer.replayed(start.strategy, start.network)
    problem = ready.problem
    configs = configs_of(problem, plan.strategy)
    # Which generator does not matter: an embedding's only degree is 1, and its server is set.
    data_parallel = initial_strategy(np.random.default_rng(0), ready.search.moves)
    changed = [
        (op, config)
        for op, config, other in zip(problem.graph.operators, configs, data_parallel, strict=True)
        if config != other
    ]
    tasks = ready.search.pricer.tasks(plan.strategy)
    allreduce, model_parallel = traffic_bytes(tasks)
    sizes = np.unique(np.diff(tasks.group_ptr))
    return Result(
        plan,
        configs,
        timeline,
        initial.seconds,
        plan.seconds,
        start.seconds,
        replayed,
        initial_replayed,
        changed,
        tuple(int(size) for size in sizes if size > 1),
        allreduce,
        model_parallel,
        outcome.state.iteration,
        earlier_s + outcome.elapsed,
        outcome.interrupted,
        outcome.improved_at,
        pricer.memory_needed(plan.strategy),
        _differ_in_routes(start, plan),
    )


def _differ_in_routes(start: Plan, plan: Plan) -> bool:
    """Whether only rings or routes tell two plans apart."""
    one, other = start.network, plan.network
    return (
        same_strategy(start.strategy, plan.strategy)
        and np.array_equal(one.topology.links, other.topology.links)
        and (one.topology.rings != other.topology.rings or not np.array_equal(one.route, other.route))
    )


def describe_problem(config: RunConfig, ready: Prepared, initial_seconds: float) -> list[str]:
    """Lines to print before a search."""
    cluster, settings = config.cluster, config.settings
    gpus = f" of {cluster.big_gpu} GPUs" if cluster.big_gpu > 1 else ""
    degree = f", degree {cluster.degree}" if settings.topology in ("topoopt", "random") else ""
    return [
        f"{config.graph.name}, batch {config.graph.batch_size}, {counted(cluster.n_server, 'server')}{gpus}; "
        f"{settings.topology}{degree}, {cluster.link_bandwidth * 8e-9:g} Gbps, {cluster.latency * 1e6:g} us; "
        f"{config.semantics.name} semantics",
        f"times {_source(ready)}",
        f"start {_ms(initial_seconds)}; {counted(settings.budget + 1, 'proposal')}, seed {settings.seed}",
    ]


def describe_result(config: RunConfig, ready: Prepared, result: Result) -> list[str]:
    """Lines to print after a search; the last one says how good it is."""
    n_op = len(config.graph.operators)
    speed = f", {result.iterations / result.search_s:.0f} proposals/s" if result.search_s > 0 else ""
    lines = [
        f"search     {counted(result.iterations, 'proposal')} in {duration_text(result.search_s)}{speed}"
        + (f"; the best after {result.improved_at}" if result.improved_at else "")
        + (", interrupted" if result.interrupted else ""),
        f"topology   {_topology_text(config, result)}",
        f"strategy   {len(result.changed)} of {n_op} operators differ from data parallelism",
        *(f"           {op.name}: {_config_text(found)}" for op, found in result.changed[:SHOWN_OPERATORS]),
    ]
    if len(result.changed) > SHOWN_OPERATORS:
        lines.append(f"           and {len(result.changed) - SHOWN_OPERATORS} more")
    return [
        *lines,
        f"traffic    {_bytes(result.bytes_allreduce)} all-reduce and {_bytes(result.bytes_model_parallel)} "
        "model-parallel in an iteration",
        f"memory     {_memory_text(config, result)}",
        *_bound(ready, result),
        f"times      {_source(ready)}",
        _verdict(config, ready, result),
    ]


def result_document(ready: Prepared, result: Result) -> Mapping[str, Any]:
    """What ``run.json`` says of a result."""
    topology = result.plan.network.topology
    ends = np.argwhere(np.triu(topology.links) > 0)
    return {
        "initial_ms": float(s_to_ms(result.initial_seconds)),
        "best_ms": float(s_to_ms(result.timeline.seconds)),
        "initial_search_ms": float(s_to_ms(result.initial_searched_seconds)),
        "best_search_ms": float(s_to_ms(result.searched_seconds)),
        "initial_replay_ms": float(s_to_ms(result.initial_replayed_seconds)),
        "best_replay_ms": float(s_to_ms(result.replayed_seconds)),
        "iterations": result.iterations,
        "improved_at": result.improved_at,
        "search_s": result.search_s,
        "proposals_per_s": result.iterations / result.search_s if result.search_s > 0 else 0.0,
        "bytes_allreduce": int(result.bytes_allreduce),
        "bytes_model_parallel": result.bytes_model_parallel,
        "memory_gb": result.memory / 1e9,
        "operators_changed": [op.name for op, _ in result.changed],
        "links": _on_one_line([[int(a), int(b), int(topology.links[a, b])] for a, b in ends]),
        **_dp_document(ready),
        "rings": {str(size): _on_one_line(rings) for size, rings in sorted(topology.rings.items())},
    }


def _dp_document(ready: Prepared) -> dict[str, Any]:
    if ready.dp is None:
        return {}
    points = [[s_to_ms(point.time), point.memory / 1e9] for point in ready.dp.frontier()]
    return {"lower_bound_ms": s_to_ms(ready.dp.lower_bound), "additive_ms_and_memory_gb": _on_one_line(points)}


def _on_one_line(value: object) -> orjson.Fragment:
    return orjson.Fragment(orjson.dumps(value))


def _source(ready: Prepared) -> str:
    table = ready.problem.table
    return f"estimated, not measured ({table.source})" if table.estimated else f"measured ({table.source})"


def _verdict(config: RunConfig, ready: Prepared, result: Result) -> str:
    best, initial = result.timeline.seconds, result.initial_seconds
    estimated = " (estimated)" if ready.problem.table.estimated else ""
    start = "imported" if config.start is not None else "data-parallel" if ready.dp is None else "dynamic-programming"
    if not best < initial:
        return f"best {_ms(best)}{estimated}, not faster than the {start} start ({_ms(initial)})"
    return f"best {_ms(best)}{estimated}, {initial / best:.2f}x faster than the {start} start ({_ms(initial)})"


def _bound(ready: Prepared, result: Result) -> list[str]:
    if ready.dp is None:
        return []
    bound = ready.dp.lower_bound
    return [f"bound      no plan takes less than {_ms(bound)}; the best is at {result.timeline.seconds / bound:.2f}x"]


def _memory_text(config: RunConfig, result: Result) -> str:
    """What the fullest server needs, and whether GPUs that times are estimated for have as much."""
    text = f"{_bytes(result.memory)} on the fullest server"
    if config.gpu is None or config.settings.gpu_memory is not None:
        return text
    gpu, n_gpu = GPUS[config.gpu], config.cluster.gpus
    has = n_gpu * gpu.memory_bytes
    if result.memory <= has:
        return text
    return f"{text}, which has {_bytes(has)}: --gpu-memory {gpu.memory_bytes / 1e9:g} refuses such plans"


def _topology_text(config: RunConfig, result: Result) -> str:
    topology = result.plan.network.topology
    n_link = int(np.triu(topology.links).sum())
    switches = f" and {topology.n_switch} switch" if topology.n_switch else ""
    text = f"{config.settings.topology}: {counted(n_link, 'link')}, {counted(topology.n_server, 'server')}{switches}"
    if config.settings.topology in ("topoopt", "random"):
        unused = topology.n_server * config.cluster.degree - 2 * n_link
        text += f", {counted(unused, 'interface')} unused" if unused else ""
    rings = [
        f"{_ring_text(topology, size)} for groups of {size}" for size in result.group_sizes if size in topology.rings
    ]
    return "; ".join([text, *rings, *(["links as at the start, other routes"] if result.only_routes else [])])


def _ring_text(topology: Topology, size: int) -> str:
    """Jumps of the rings of a group size; jumps of several hops as sums."""
    return "jumps " + " ".join("+".join(map(str, ring)) for ring in topology.rings[size])


def _config_text(config: Config) -> str:
    parts = f"{counted(len(config.devices), 'part')}"
    cut = f" ({'x'.join(map(str, config.degrees))})" if max(config.degrees[:-1], default=1) > 1 else ""
    servers = " ".join(map(str, config.devices[:16])) + (" ..." if len(config.devices) > 16 else "")
    return f"{parts}{cut} on server{'s' if len(config.devices) > 1 else ''} {servers}"


def _ms(seconds: float) -> str:
    ms = s_to_ms(seconds)
    return f"{ms:.2f} ms" if ms >= 1 else f"{ms:#.3g} ms"


def _bytes(n: float) -> str:
    for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n >= scale:
            return f"{n / scale:.2f} {unit}"
    return f"{n:.0f} bytes"
