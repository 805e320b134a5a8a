"""The model in stages, each on servers of its own.

A server of a stage has the weights of that stage alone to reduce, and all that the stages compute one after the other
costs is time in which the reductions of others go on.  Reductions of a stage wait until what the one before it needs is
through; each comes without that too.

Of several micro-batches a set of servers may have several stages, between which those of the others lie: then a stage
takes less time that others wait for before they begin, and behind the last micro-batch (interleaved 1F1B: D. Narayanan
et al., SC 2021, section 2.2.2).

Two stages of a Llama of three layers over 16 of 32 servers each, its embedding cut along the vocabulary over all, take
66 ms where data parallelism takes 100 and searches from stages of everything ended at 78.
"""

from collections.abc import Sequence
from math import prod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from flexnet.cost.coverage import is_data_parallel
from flexnet.exact.solver import solve
from flexnet.exact.terms import place
from flexnet.model.cutting import batch_degrees, divisors
from flexnet.network.family import TopologyFamily
from flexnet.plan.strategy import Strategy, make_strategy
from flexnet.search.moves.blocks import copy_of, spread
from flexnet.search.moves.chains import Chain
from flexnet.search.moves.deal import deal_out, heaviest_first
from flexnet.search.moves.hold import all_held
from flexnet.search.moves.space import MoveSpace
from flexnet.search.starts.borders import cut_anywhere, cut_where_little_goes_over, going_over
from flexnet.search.starts.data_parallel import data_parallel
from flexnet.search.starts.layers import is_layered, many_layered, stage_counts
from flexnet.search.starts.start import Start, StartPoints, at_most

__all__ = ["Stages"]

MOST = 100  # strategies, without those whose reductions wait
MOST_HELD = 2 * MOST  # whose reductions wait
MOST_TURNS = 3  # numbers of stages of a set that are tried
HEAVY = 0.2  # of all weights but those of tables
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Stages(Start):
    """Consecutive operators on disjoint sets of servers (`stage_counts`): all, those behind branches, or branches.

    Branches are dealt out where others are in stages, or, one behind the other, in stages themselves, which makes even
    shares of five towers on four sets.  Tables stay where data parallelism has them, and of all, an operator may stay
    on all servers that is cut otherwise (`_with_another_cut`).
    """

    name: ClassVar[str] = "stages"

    def points(
        self, space: MoveSpace, family: TopologyFamily, memory_limit: float | None, rng: np.random.Generator
    ) -> StartPoints:
        """Stages of equal weights, of equal work, and of both on the mean; sets side by side and spread."""
        blocks, n_server = space.blocks, space.problem.cluster.n_server
        base = make_strategy(space.problem, data_parallel(rng, space))
        cut = tuple(op for op, whole in enumerate(blocks.whole) if not whole)
        bases = [(base, cut)]
        for branches in heaviest_first(blocks)[:1]:
            dealt, n = copy_of(base), max(n_server // len(branches), 1)
            deal_out(blocks, dealt, branches, max(divisors(n_server, n)), 0, strided=False, rng=rng)
            branched = {op for chain in branches for op in chain}
            bases.append((dealt, tuple(op for op in cut if op not in branched)))
            bases.append((base, tuple(op for op in cut if op in branched)))
        bases += _with_another_cut(space, family, base, cut)
        found, most = list[Strategy](), at_most(space.problem, MOST)
        counts = stage_counts(space.problem)[1:]
        if space.problem.micro_batches > 1:  # which may be too small for all servers of a stage
            graph = space.problem.graph
            counts = [n_stage for n_stage in counts if is_data_parallel(graph, space.degrees, n_server // n_stage)]
        for strategy, staged in bases:
            over = _over(space, staged)
            for n_stage in counts:
                n_part = n_server // n_stage
                loads = _loads(space, staged, n_part)
                for stage_of in _cuts(loads, over, n_stage, n_stage):
                    for strided in (False, True) if len(found) < most else ():
                        found.append(_laid(space, strategy, staged, stage_of, n_part, strided=strided, rng=rng))
        held = all_held(space, found)[: at_most(space.problem, MOST_HELD)]
        if space.problem.micro_batches == 1:
            return StartPoints((*found, *held))
        few = _on_fewer_servers(space, base, cut, rng)
        return StartPoints((*_in_turn(space, base, cut, counts, rng), *found, *few, *held))


def _in_turn(
    space: MoveSpace, base: Strategy, cut: Chain, counts: Sequence[int], rng: np.random.Generator
) -> list[Strategy]:
    """Several stages on each set of servers, of micro-batches: as many as layers come out even for, or two."""
    problem, found, most = space.problem, list[Strategy](), at_most(space.problem, MOST)
    n_layer = sum(block.count for block in problem.graph.blocks if is_layered(problem.graph, block))
    over = _over(space, cut)
    for n_set in counts:
        even = divisors(n_layer // n_set, n_layer)[1:][:MOST_TURNS] if n_layer % n_set == 0 else [2]
        for n_turn in (n for n in even if n * n_set <= n_layer):
            n_part = problem.cluster.n_server // n_set
            loads = _loads(space, cut, n_part)[1:]  # not weights alone: all wait for the slowest
            for stage_of in _cuts(loads, over, n_set * n_turn, n_set)[: most - len(found)]:
                stages = tuple(stage % n_set for stage in stage_of)
                found.append(_laid(space, base, cut, stages, n_part, strided=False, rng=rng))
    return found


def _on_fewer_servers(space: MoveSpace, base: Strategy, cut: Chain, rng: np.random.Generator) -> list[Strategy]:
    """Stages, or one, that leave servers without any part but tables, on large sets first.

    Where links are slow, more servers have more to reduce.
    """
    problem, n_server = space.problem, space.problem.cluster.n_server
    found, most, over = list[Strategy](), at_most(problem, MOST), _over(space, cut)
    for n_part in reversed(divisors(n_server, n_server)[:-1]):
        if not is_data_parallel(problem.graph, space.degrees, n_part):
            continue
        loads = _loads(space, cut, n_part)
        for n_stage in (n for n in stage_counts(problem) if n * n_part < n_server):
            for stage_of in _cuts(loads, over, n_stage, n_stage)[: most - len(found)]:
                found.append(_laid(space, base, cut, stage_of, n_part, strided=False, rng=rng))
    return found


def _with_another_cut(
    space: MoveSpace, family: TopologyFamily, base: Strategy, cut: Chain
) -> list[tuple[Strategy, Chain]]:
    """With the heaviest operator that an additive optimum cuts not along the batch cut so, and the others.

    As of embeddings that many tokens look up, whose gradients are much and whose rows are little.  None unless it has
    a good part of all weights.
    """
    problem = space.problem
    size = {op: problem.graph.operators[op].n_parameter for op in cut}
    heavy = [op for op in cut if size[op] > HEAVY * sum(size.values())]
    if not heavy or many_layered(problem.graph):
        return []
    terms = space.terms(strided=space.strided)
    choices = solve(terms.tables(1.0 / family.server_bandwidth(problem.cluster))).choices
    configs = place(problem, terms, choices, strided=space.strided)
    rank = problem.arrays.rank.tolist()
    others = [op for op in heavy if configs[op].degrees != batch_degrees(rank[op], prod(configs[op].degrees))]
    if not others:
        return []
    heaviest = max(others, key=size.__getitem__)
    strategy, optimum = copy_of(base), make_strategy(problem, configs)
    for mine, best in zip(strategy, optimum, strict=True):
        mine[heaviest] = best[heaviest]
    return [(strategy, tuple(op for op in cut if op != heaviest))]


def _laid(
    space: MoveSpace,
    strategy: Strategy,
    staged: Chain,
    stage_of: tuple[int, ...],
    n_part: int,
    *,
    strided: bool,
    rng: np.random.Generator,
) -> Strategy:
    """The strategy with operators cut along the batch over the ``n_part`` servers of their stage."""
    n_server, changed = space.problem.cluster.n_server, copy_of(strategy)
    for op, stage in zip(staged, stage_of, strict=True):
        servers = spread(n_server, n_part, stage, strided=strided)
        space.blocks.assign(changed, op, servers, None, rng)
    return changed


def _over(space: MoveSpace, staged: Chain) -> Ints | None:
    """What goes over each border, of micro-batches: their stages wait for each, and so begin where little goes over."""
    return going_over(space.problem.graph, staged) if space.problem.micro_batches > 1 else None


def _cuts(loads: Sequence[Floats], over: Ints | None, n_stage: int, n_set: int) -> list[tuple[int, ...]]:
    """Which stage every operator is in, where little goes over if that is told, and anywhere."""
    found = [] if over is None else [cut_where_little_goes_over(load, over, n_stage, n_set) for load in loads]
    return list(dict.fromkeys((*found, *(cut_anywhere(load, n_stage) for load in loads))))


def _loads(space: MoveSpace, staged: Chain, n_part: int) -> list[Floats]:
    """What stages are to have alike, as shares of all: parameters, seconds of that many parts, the mean of both."""
    blocks, operators, candidates = space.blocks, space.problem.graph.operators, space.problem.candidates
    weights = np.array([float(operators[op].n_parameter) for op in staged])
    choices = [blocks.with_parts[op].get(n_part, (0,))[0] for op in staged]
    entries = [candidates[op][choice] for op, choice in zip(staged, choices, strict=True)]
    seconds = np.array([entry.forward + entry.backward for entry in entries])
    shares = [load / load.sum() for load in (weights, seconds) if load.sum() > 0]
    return [*shares, sum(shares) / 2] if len(shares) == 2 else shares
