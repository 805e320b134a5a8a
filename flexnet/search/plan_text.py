"""Network, memory and times of a plan in words, as the summary of a search has them."""

from math import prod

import numpy as np

from flexnet.cost.gpus import GPUS
from flexnet.errors import counted
from flexnet.model.operators import kind_of
from flexnet.network.topology import Topology, by_members
from flexnet.plan.stages import stages_of
from flexnet.plan.task_graph_builder import Builder
from flexnet.plan.task_kinds import ALLREDUCE
from flexnet.search.config_text import numbers_text
from flexnet.search.opening import arithmetic_text, has_degree
from flexnet.search.plan import Plan
from flexnet.search.settings import Settings
from flexnet.units import bytes_text

__all__ = ["buckets_text", "groups_text", "memory_text", "stages_text", "times_text", "topology_text"]


def times_text(plan: Plan) -> str:
    """Where times come from, and how many of them are estimates."""
    table = plan.problem.table
    n_estimated, share = plan.estimated_cuts
    arithmetic = arithmetic_text(table)
    if table.estimated or not n_estimated:
        return f"{table.origin}; {arithmetic}"
    cuts = f"{n_estimated} of {counted(len(plan.problem.graph.operators), 'cut')}"
    return f"{table.origin}; {arithmetic}; {cuts} and {100 * share:.0f} % of compute estimated from it"


def memory_text(plan: Plan, settings: Settings, gpu: str | None) -> str:
    """What the fullest server needs, and whether GPUs that times are estimated for have as much."""
    needed = plan.memory
    text = f"{bytes_text(needed)} on the fullest server"
    if gpu is None or settings.gpu_memory is not None:
        return text
    has = plan.problem.cluster.gpus * GPUS[gpu].memory_bytes
    if needed <= has:
        return text
    return f"{text}, which has {bytes_text(has)}: --gpu-memory {GPUS[gpu].memory_bytes / 1e9:g} refuses such plans"


def groups_text(plan: Plan) -> str:
    """What groups of GPUs share, and what that takes."""
    parallel, operators = plan.problem.parallel, plan.problem.graph.operators
    n_shared = sum(map(parallel.shares_more, operators))
    n_idle = sum(prod(parallel.degrees[op.index]) < parallel.gpus for op in operators if not kind_of(op).whole)
    text = f"{parallel.gpus} GPUs share more than samples of {n_shared} of {counted(len(operators), 'operator')}"
    text += f", {n_idle} are on fewer" if n_idle else ""
    return f"{text}; bringing each other what they lack is {100 * plan.brought:.0f} % of compute"


def stages_text(plan: Plan) -> str:
    """Of how many stages a pipeline is, and which servers have them; empty where all operators share servers."""
    stage = stages_of(plan.problem, plan.strategy).behind
    if not stage.any():
        return ""
    sets = list[frozenset[int]]()  # of servers, first stages first
    for behind in range(int(stage.max()), -1, -1):
        servers = plan.strategy.devices[stage == behind]
        own = frozenset(servers[servers >= 0].tolist())
        sets += [own] if own not in sets else []
    sizes = sorted(map(len, sets))
    each = f"{sizes[0]}" if sizes[0] == sizes[-1] else f"{sizes[0]} to {sizes[-1]}"
    text = f"{stage.max() + 1} stages on {counted(len(sets), 'set')} of {each} {'server' if each == '1' else 'servers'}"
    text += ", by turns" if stage.max() + 1 > len(sets) else ""
    return f"{text}; the first on {numbers_text(sorted(sets[0]))}"


def buckets_text(plan: Plan) -> str:
    """How many all-reduces are left where gradients are put together."""
    alone = Builder(plan.problem.with_buckets(0)).arrays(plan.strategy)
    n, n_alone = (int(np.count_nonzero(kind == ALLREDUCE)) for kind in (plan.task_graph().kind, alone.kind))
    return f"gradients together in up to {bytes_text(plan.problem.bucket_bytes)}: {n} all-reduces in place of {n_alone}"


def topology_text(plan: Plan, settings: Settings) -> str:
    """Links, and the rings of all-reduces."""
    topology = plan.topology
    switches = f" and {counted(topology.n_switch, 'switch')}" if topology.n_switch else ""
    links, servers = counted(topology.n_link, "link"), counted(topology.n_server, "server")
    text = f"{settings.topology_name}: {links}, {servers}{switches}"
    if has_degree(settings):
        unused = topology.n_server * plan.problem.cluster.degree - 2 * topology.n_link
        text += f", {counted(unused, 'interface')} unused" if unused else ""
    by_size: dict[int, list[list[tuple[int, ...]]]] = {}
    for group, cycles in by_members(plan.cycles).items():
        by_size.setdefault(len(group), []).append(cycles)
    members = np.diff(plan.task_graph().group_ptr)
    sizes = [int(size) for size in np.unique(members) if size > 1]
    rings = [
        f"{_cycle_text(by_size[size], topology.n_server) if size in by_size else _ring_text(topology, size)} "
        f"for groups of {size}"
        for size in sizes
        if size in by_size or size in topology.rings
    ]
    return "; ".join([text, *rings])


def _ring_text(topology: Topology, size: int) -> str:
    """Jumps of the rings of a group size; jumps of several hops as sums."""
    return "jumps " + " ".join("+".join(map(str, ring)) for ring in topology.rings[size])


def _cycle_text(groups: list[list[tuple[int, ...]]], n_server: int) -> str:
    """How many one-way rings groups of a size have, each with the cycles of its own; the jumps if those are alike."""
    jumps = {tuple(_jump(cycle, n_server) for cycle in cycles) for cycles in groups}
    if len(jumps) == 1 and None not in (same := jumps.pop()):
        return "jumps " + " ".join(map(str, same))
    least, most = min(map(len, groups)), max(map(len, groups))
    return f"{counted(most, 'ring')}" if least == most else f"{least} to {most} rings"


def _jump(cycle: tuple[int, ...], n_server: int) -> int | None:
    """How many servers further on the next one is, from all of them."""
    jumps = {(ahead - here) % n_server for here, ahead in zip(cycle, (*cycle[1:], cycle[0]), strict=True)}
    return jumps.pop() if len(jumps) == 1 else None
