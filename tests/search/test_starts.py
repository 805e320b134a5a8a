from pathlib import Path

import numpy as np
import pytest
from command_lines import SEARCH, errors_of, run_json

from flexnet.commands.cli import run


@pytest.mark.parametrize(
    "start", ["all", "data", "dp", "groups", "cut-groups", "split-joins", "heavy", "heavy-sets", "stages", "layer-cuts"]
)
@pytest.mark.parametrize("method", ["portfolio", "mcmc"])
def test_search_tells_the_bound(method: str, start: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--method", method, "--start", start, "--search-budget", "20", "-o", str(tmp_path / "a")]
    assert run([*SEARCH, *words]) == 0
    shown = capsys.readouterr().out
    assert "bound      no plan takes less than " in shown
    begun = {"all": "data-parallel", "data": "data-parallel", "dp": "dynamic-programming", "heavy": "heavy-recuts"}
    assert f"{begun.get(start, start) if method == 'mcmc' else 'data-parallel'} start" in shown
    record = run_json(tmp_path / "a")
    assert 0 < record["lower_bound_ms"] <= record["best_ms"]  # type: ignore[operator]
    assert record["gap"] == pytest.approx(record["best_ms"] / record["lower_bound_ms"])  # type: ignore[operator]
    assert sum(record["bound_terms"].values()) == pytest.approx(1.0, abs=0.05)  # type: ignore[attr-defined]
    assert bool(record.get("additive_ms_and_memory_gb")) == (start == "dp")
    assert record["inputs"]["settings"]["start"] == start  # type: ignore[index]


def test_stages_are_even_and_reductions_let_through_what_the_one_before_needs() -> None:
    """Six equal layers: in two stages three each, in four 1, 2, 2 and 1; a table stays where it is."""
    from flexnet import Cluster, GraphBuilder, complete_table, make_problem, roofline_table
    from flexnet.network.build import family_of
    from flexnet.plan.semantics import CORRECTED
    from flexnet.search.moves.blocks import home
    from flexnet.search.moves.space import make_space
    from flexnet.search.starts.stages import Stages

    b = GraphBuilder("layers", 64)
    x = b.embedding(b.input(1, dtype="int64"), 1000, 512)
    for _ in range(6):
        x = b.dense(x, 512)
    graph = b.build()
    table = complete_table(roofline_table(graph, "a100", n_server=8), graph)
    problem = make_problem(graph, table, Cluster(8), CORRECTED)

    def points(*, ordered: bool) -> set[tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]]:
        space = make_space(problem, strided=True, ordered=ordered)
        family = family_of("topoopt", degree=4, semantics=CORRECTED)
        found = Stages().points(space, family, None, np.random.default_rng(0)).strategies
        homes = [tuple(tuple(home(strategy, op).tolist()) for op in range(7)) for strategy in found]  # type: ignore[arg-type]
        return {(at, tuple(s.after.tolist())) for at, s in zip(homes, found, strict=True)}  # type: ignore[union-attr]

    held, eager = points(ordered=True), points(ordered=False)
    table_at = next(iter(held))[0][0]
    assert len(table_at) == 1
    left, right, even, odd = (0, 1, 2, 3), (4, 5, 6, 7), (0, 2, 4, 6), (1, 3, 5, 7)
    assert ((table_at, *[left] * 3, *[right] * 3), (-1, -1, -1, -1, 3, 3, 3)) in held
    assert ((table_at, *[even] * 3, *[odd] * 3), (-1, -1, -1, -1, 3, 3, 3)) in held
    assert ((table_at, (0, 1), (2, 3), (2, 3), (4, 5), (4, 5), (6, 7)), (-1, -1, 1, 1, 3, 3, 5)) in held
    assert {at for at, _ in held} == {at for at, _ in eager} and held > eager
    assert {after for _, after in eager} == {(-1,) * 7}


@pytest.mark.parametrize(("width", "heavy"), [(4096, True), (64, False)])
def test_a_heavy_operator_cut_otherwise_stays_on_all_servers(width: int, heavy: bool) -> None:
    """Of stages of everything but a large matrix, that is cut as is best over all servers; not of a small one."""
    from flexnet import Cluster, GraphBuilder, complete_table, make_problem, roofline_table
    from flexnet.network.build import family_of
    from flexnet.plan.semantics import CORRECTED
    from flexnet.plan.strategy import configs_of
    from flexnet.search.moves.space import make_space
    from flexnet.search.starts.stages import Stages

    b = GraphBuilder("layers", 64)
    x = b.dense(b.input(width), width)
    for _ in range(4):
        x = b.dense(x, 64)
    graph = b.build()
    table = complete_table(roofline_table(graph, "a100", n_server=8), graph)
    problem = make_problem(graph, table, Cluster(8, link_bandwidth=1e8), CORRECTED)
    space, family = make_space(problem, strided=True), family_of("topoopt", degree=4, semantics=CORRECTED)
    found = Stages().points(space, family, None, np.random.default_rng(0)).strategies
    cuts = [configs_of(problem, strategy) for strategy in found]  # type: ignore[arg-type]
    kept = [each for each in cuts if each[0].degrees[-1] != len(each[0].devices) and len(each[0].devices) == 8]
    assert bool(kept) == heavy
    assert len({each[0].degrees for each in kept}) <= 1
    for each in kept:
        assert all(len(config.devices) < 8 for config in each[1:])
        assert len({config.devices for config in each[1:]}) > 1


@pytest.mark.parametrize("side_by_side", [True, False])
def test_branches_in_a_row_get_no_servers_of_their_own(side_by_side: bool) -> None:
    from flexnet import Cluster, GraphBuilder, complete_table, make_problem, roofline_table
    from flexnet.model.graph import OpType
    from flexnet.network.build import family_of
    from flexnet.plan.semantics import CORRECTED
    from flexnet.search.moves.blocks import home
    from flexnet.search.moves.deal import heaviest_first
    from flexnet.search.moves.space import make_space
    from flexnet.search.starts.cut_groups import CutGroups

    b = GraphBuilder("branches", 64)
    x = b.dense(b.input(64), 64)
    if side_by_side:
        x = b.concat([b.dense(b.dense(x, 64), 64) for _ in range(4)], axis=0)
    else:
        for _ in range(4):
            x = b.binary(OpType.ADD, x, b.dense(b.dense(x, 64), 64))
    b.dense(x, 64)
    graph = b.build()
    table = complete_table(roofline_table(graph, "a100", n_server=8), graph)
    problem = make_problem(graph, table, Cluster(8, link_bandwidth=1e8), CORRECTED)
    space, family = make_space(problem, strided=True), family_of("topoopt", degree=4, semantics=CORRECTED)
    branches = heaviest_first(space.blocks)[0]
    assert len(branches) >= 4
    found = CutGroups().points(space, family, None, np.random.default_rng(0)).strategies
    homes = {tuple(home(strategy, chain[0]).tolist()) for strategy in found for chain in branches}  # type: ignore[arg-type]
    assert found
    assert any(min(servers) > 0 for servers in homes) == side_by_side


@pytest.mark.parametrize("name", ["groups", "stages"])
def test_of_thousands_of_servers_there_are_as_many_starts_as_there_is_room_for(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flexnet import MODELS, Cluster, make_problem, roofline_table
    from flexnet.network.build import family_of
    from flexnet.plan.semantics import CORRECTED
    from flexnet.search.moves.space import make_space
    from flexnet.search.starts import STARTS, start

    family = family_of("topoopt", degree=4, semantics=CORRECTED)
    graph = MODELS["candle_uno"].build({}, batch_size=64)
    problem = make_problem(graph, roofline_table(graph, "a100", n_server=8), Cluster(8), CORRECTED)
    space, cells = make_space(problem, strided=True), len(graph.operators) * 8

    def n_point() -> int:
        return len(STARTS[name]().points(space, family, None, np.random.default_rng(0)).strategies)

    every = n_point()
    monkeypatch.setattr(start, "MOST_CELLS", 4 * cells + 1)
    assert 1 < n_point() <= 10 < every  # both ways to lay them, and with reductions that wait
    assert start.at_most(problem, 5) == 4 > start.at_most(problem, 3) == 3
    monkeypatch.setattr(start, "MOST_CELLS", 0)
    assert start.at_most(problem, 9) == 1


def test_dynamic_programming_has_the_optima_among_cuts_of_the_batch_too() -> None:
    """As where only those are known; operators that have none keep all their cuts."""
    from flexnet import Cluster, GraphBuilder, complete_table, make_problem, roofline_table
    from flexnet.network.build import family_of
    from flexnet.plan.semantics import CORRECTED
    from flexnet.search.moves.space import make_space
    from flexnet.search.starts.dynamic_programming import DynamicProgramming

    b = GraphBuilder("layers", 64)
    x = b.dense(b.input(2048), 4096)
    for _ in range(3):
        x = b.dense(x, 4096)
    graph = b.build()
    of_batch = roofline_table(graph, "a100", n_server=8)
    found = []
    for table in (of_batch, complete_table(of_batch, graph)):
        problem = make_problem(graph, table, Cluster(8, link_bandwidth=3e9), CORRECTED)
        family = family_of("fattree", degree=1, semantics=CORRECTED)
        space = make_space(problem, strided=True)
        found.append(DynamicProgramming().points(space, family, None, np.random.default_rng(0)).strategies)
    batch, every = ({tuple(config.degrees for config in one) for one in strategies} for strategies in found)  # type: ignore[union-attr]
    assert batch < every
    assert all(set(degrees[:-1]) <= {1} for strategy in batch for degrees in strategy)
    assert any(set(degrees[:-1]) > {1} for strategy in every - batch for degrees in strategy)


def test_branches_are_cut_within_sets_of_their_own() -> None:
    """Two towers and what joins them, on every size of sets; among them each tower on half of the servers."""
    from flexnet import Cluster, GraphBuilder, complete_table, make_problem, roofline_table
    from flexnet.network.build import family_of
    from flexnet.plan.semantics import CORRECTED
    from flexnet.search.moves.blocks import home
    from flexnet.search.moves.space import make_space
    from flexnet.search.starts.cut_groups import CutGroups

    b = GraphBuilder("towers", 2048)
    towers = []
    for _ in range(2):
        x = b.input(4096)
        for _ in range(3):
            x = b.dense(x, 4096)
        towers.append(x)
    b.dense(b.concat(towers, axis=1), 4096)
    graph = b.build()
    table = complete_table(roofline_table(graph, "a100", n_server=8), graph)
    problem = make_problem(graph, table, Cluster(8, link_bandwidth=2e9), CORRECTED)
    space, family = make_space(problem, strided=True), family_of("topoopt", degree=4, semantics=CORRECTED)
    found = CutGroups().points(space, family, None, np.random.default_rng(0)).strategies
    sets = [[set(home(one, op).tolist()) for op in range(8)] for one in found]  # type: ignore[arg-type]
    widths = []
    for homes in sets:
        left, right = set().union(*homes[:3]), set().union(*homes[3:6])
        widths.append(len(left))
        assert not left & right or len(left) == len(right) == 8
    assert {4, 8} <= set(widths)
    degrees = {problem.candidates[1][one.choice[1]].degrees for one in found}  # type: ignore[union-attr]
    assert any(cut[0] > 1 or len(cut) > 2 for cut in degrees), "weights are cut too"


def test_joins_lie_with_their_towers() -> None:
    """Of two towers and what joins them; where each slice is on the servers of its tower, sums alone move."""
    from flexnet import Cluster, GraphBuilder, complete_table, make_problem, roofline_table
    from flexnet.network.build import family_of
    from flexnet.plan.semantics import CORRECTED
    from flexnet.plan.task_graph_builder import build
    from flexnet.plan.task_kinds import NOMINAL_COMM
    from flexnet.search.moves.space import make_space
    from flexnet.search.starts.split_joins import SplitJoins

    b = GraphBuilder("towers", 2048)
    towers = [b.dense(b.dense(b.input(4096), 4096), 4096) for _ in range(2)]
    b.dense(b.dense(b.concat(towers, axis=1), 1024), 64)
    graph = b.build()
    table = complete_table(roofline_table(graph, "a100", n_server=4), graph)
    problem = make_problem(graph, table, Cluster(4, link_bandwidth=2e9), CORRECTED)
    family = family_of("fattree")
    found = SplitJoins().points(make_space(problem, strided=True), family, None, np.random.default_rng(0)).strategies
    joins = [problem.candidates[4][one.choice[4]].degrees for one in found]  # type: ignore[union-attr]
    assert {cut[0] for cut in joins} == {2, 4} and {cut[1] for cut in joins if cut[0] == 2} == {1, 2}
    moved = []
    for one, cut in zip(found, joins, strict=True):
        tasks = build(problem, one)  # type: ignore[arg-type]
        moved.append(int(tasks.bytes[tasks.kind == NOMINAL_COMM].sum()) if cut == (2, 2) else 0)
    assert min(n for n in moved if n) == 2 * 2048 * 1024 * 4, "half of the sums of every sample, there and back"
    assert len({(one.choice.tobytes(), one.devices.tobytes()) for one in found}) == len(found)  # type: ignore[union-attr]


def test_towers_may_lie_on_one_server_each_and_what_follows_on_one_or_all() -> None:
    """Of four towers each alone, or those of a slice together; behind the join sums over its servers or all; or one."""
    from flexnet import Cluster, GraphBuilder, complete_table, make_problem, roofline_table
    from flexnet.network.build import family_of
    from flexnet.plan.semantics import CORRECTED
    from flexnet.plan.strategy import configs_of
    from flexnet.search.moves.space import make_space
    from flexnet.search.starts.split_joins import SplitJoins

    b = GraphBuilder("towers", 64)
    towers = [b.dense(b.input(64), 64) for _ in range(4)]
    b.softmax(b.dense(b.dense(b.concat(towers, axis=1), 64), 64))
    graph = b.build()
    table = complete_table(roofline_table(graph, "a100", n_server=4), graph)
    problem = make_problem(graph, table, Cluster(4, link_bandwidth=2e9), CORRECTED)
    space, rng = make_space(problem, strided=True), np.random.default_rng(0)
    found = SplitJoins().points(space, family_of("fattree"), None, rng).strategies
    names = [op.name for op in graph.operators]
    lie = set()
    for one in found:
        configs = dict(zip(names, configs_of(problem, one), strict=True))  # type: ignore[arg-type]
        if configs[names[4]].degrees == (2, 1):
            last = configs[names[6]]
            lie.add((tuple(configs[name].devices for name in names[:4]), last.degrees, last.devices))
    apart, shared = ((0,), (1,), (2,), (3,)), ((0,), (0,), (1,), (1,))
    every = (0, 1, 2, 3)
    for towers_on in (apart, shared):
        assert (towers_on, (1, 1, 4), every) in lie
        assert (towers_on, (1, 1, 2), (0, 1)) in lie
        assert (towers_on, (1, 1), (0,)) in lie


@pytest.mark.parametrize("along_steps", [False, True])
def test_what_reads_a_join_is_cut_with_it(along_steps: bool) -> None:
    """Past an activation: a matrix along its inputs behind joined channels, along steps behind joined steps."""
    from flexnet import Cluster, GraphBuilder, complete_table, make_problem, roofline_table
    from flexnet.model.graph import OpType
    from flexnet.network.build import family_of
    from flexnet.plan.semantics import CORRECTED
    from flexnet.search.moves.space import make_space
    from flexnet.search.starts.split_joins import SplitJoins

    b = GraphBuilder("towers", 64)
    towers = [b.dense(b.input(16, 256) if along_steps else b.input(256), 256) for _ in range(2)]
    b.softmax(b.dense(b.unary(OpType.RELU, b.concat(towers, axis=1)), 64))
    graph = b.build()
    table = complete_table(roofline_table(graph, "a100", n_server=4), graph)
    problem = make_problem(graph, table, Cluster(4, link_bandwidth=2e9), CORRECTED)
    space, rng = make_space(problem, strided=True), np.random.default_rng(0)
    found = SplitJoins().points(space, family_of("fattree"), None, rng).strategies
    cuts = {tuple(problem.candidates[op][one.choice[op]].degrees for op in (2, 3, 4)) for one in found}  # type: ignore[union-attr]
    wanted = ((1, 2, 2), (1, 2, 2), (1, 2, 2)) if along_steps else ((2, 2), (2, 2), (1, 2, 2))
    assert wanted in cuts


def test_what_cannot_be_cut_into_few_parts_is_cut_into_more() -> None:
    """Cuts that the original would measure of ResNet-50 on 8 servers: of some operators none into few parts."""
    from flexnet import MODELS, Cluster, make_problem, roofline_table
    from flexnet.network.build import family_of
    from flexnet.plan.semantics import CORRECTED
    from flexnet.search.moves.space import make_space
    from flexnet.search.starts.cut_groups import CutGroups

    graph = MODELS["resnet"].build({}, 512)
    table = roofline_table(graph, "h100", n_server=8)
    fewest = {op.name: min(np.prod(e.degrees) for e in table.candidates(op)) for op in graph.operators}
    assert max(fewest.values()) > 1
    problem = make_problem(graph, table, Cluster(8), CORRECTED)
    family, rng = family_of("fattree"), np.random.default_rng(0)
    found = CutGroups().points(make_space(problem, strided=True), family, None, rng).strategies
    assert found
    for one in found:
        parts = [np.prod(problem.candidates[op][i].degrees) for op, i in enumerate(one.choice)]  # type: ignore[union-attr]
        assert parts == (one.devices >= 0).sum(axis=1).tolist()  # type: ignore[union-attr]


@pytest.mark.compiled
def test_heavy_operators_are_cut_at_the_start() -> None:
    """Of AlexNet on 32 servers the first matrix decides: recut, it takes half the time of data parallelism."""
    from flexnet import MODELS, Cluster, Settings, complete_table, make_problem, roofline_table
    from flexnet.plan.semantics import CORRECTED
    from flexnet.search.prepare import prepare

    graph = MODELS["alexnet"].build({}, 2048)
    table = complete_table(roofline_table(graph, "a100", n_server=32, big_gpu=4), graph, big_gpu=4)
    problem = make_problem(graph, table, Cluster(32, 4, 2.5e10, 3e9, 1e-6, 4), CORRECTED)
    ready = prepare(problem, Settings("topoopt", 100, strided=True, start="heavy"))
    state, schedule = ready.state, ready.state.schedule
    assert schedule is not None and 0 < len(schedule.pending) <= 32 + 2 * 8
    base = state.current.strategy
    for one in schedule.pending:
        assert 1 <= (one.choice != base.choice).sum() <= 3
    while state.schedule is not None and state.schedule.pending:
        state, _ = ready.search.step(ready.rng, state)
    assert state.best.seconds < 0.6 * ready.start.seconds
    schedule = prepare(problem, Settings("topoopt", 100, strided=True)).state.schedule
    assert schedule is not None and "heavy-recuts" in schedule.origins  # small, but one operator holds most weights


LAYERED = ["--num-layers", "4", "--hidden-size", "512", "--intermediate-size", "1024", "--num-heads", "8"]
LLAMA = ["search", "llama", *LAYERED, "--sequence-length", "16", "--vocabulary-size", "1024", "--batch-size", "64"]
ON_FOUR = ["--nsimnode", "4", "--gpu", "h100", "--topology", "fc", "--start", "layers"]


def test_layers_are_dealt_out_and_cut_where_data_parallelism_does_not_fit() -> None:
    from flexnet import CORRECTED, MODELS, Cluster, complete_table, make_problem, roofline_table
    from flexnet.plan.memory import memory_needed
    from flexnet.plan.strategy import make_strategy
    from flexnet.search.moves.space import make_space
    from flexnet.search.starts.data_parallel import data_parallel
    from flexnet.search.starts.layers import Layers

    flags = dict(zip(LLAMA[2:-2:2], LLAMA[3:-2:2], strict=True))
    graph = MODELS["llama"].build(flags, 64)
    table = complete_table(roofline_table(graph, "h100", n_server=4), graph)
    problem = make_problem(graph, table, Cluster(4), CORRECTED, optimizer="adam")
    space, rng = make_space(problem, strided=False), np.random.default_rng(0)

    def points(limit: float | None) -> list[float]:
        given = Layers().points(space, None, limit, rng).strategies  # type: ignore[arg-type]
        return [memory_needed(problem, make_strategy(problem, configs)) for configs in given]  # type: ignore[arg-type]

    parallel = memory_needed(problem, make_strategy(problem, data_parallel(rng, space)))
    assert points(None) == points(parallel) == []
    dealt, cut = points(0.7 * parallel)
    assert dealt <= 0.7 * parallel and cut <= 0.7 * parallel
    (leanest,) = points(0.01 * parallel)
    assert 0.01 * parallel < leanest < 0.5 * parallel
    assert Layers().points(make_space(problem, strided=True), None, 0.7 * parallel, rng).strategies  # type: ignore[arg-type]


def test_layers_are_cut_as_is_best_for_one_of_them() -> None:
    """Experts lie on servers of their own, in every layer alike; with little memory all weights are cut."""
    from flexnet import CORRECTED, MODELS, Cluster, complete_table, make_problem, roofline_table
    from flexnet.network.build import family_of
    from flexnet.plan.memory import memory_needed
    from flexnet.plan.strategy import configs_of
    from flexnet.search.moves.space import make_space
    from flexnet.search.starts.layer_cuts import LayerCuts

    flags = dict(zip(LAYERED[::2], LAYERED[1::2], strict=True)) | {"--sequence-length": 16, "--vocabulary-size": 512}
    graph = MODELS["mixtral"].build(flags | {"--num-layers": 5, "--intermediate-size": 8192}, 64)
    table = complete_table(roofline_table(graph, "h100", n_server=4), graph)
    problem = make_problem(graph, table, Cluster(4), CORRECTED)
    space, rng = make_space(problem, strided=True), np.random.default_rng(0)
    family = family_of("fc", degree=4, semantics=CORRECTED)
    (block,) = graph.blocks
    experts = [op.index for op in graph.operators if op.equation]

    found = LayerCuts().points(space, family, None, rng).strategies
    homes = {tuple(tuple(config.devices) for config in configs_of(problem, one)) for one in found}  # type: ignore[arg-type]
    whole = [one for one in found if (one.devices[experts] >= 0).sum(axis=1).min() == 4]  # type: ignore[union-attr]
    assert whole and len(homes) > 3
    for one in whole:
        degrees = [config.degrees for config in configs_of(problem, one)]  # type: ignore[arg-type]
        assert {degrees[op] for op in experts} == {(1, 1, 4, 1)}  # experts, of (features, capacity, experts, groups)
        for first, *others in zip(*block.repetitions[1:-1], strict=True):
            assert {degrees[op] for op in others} == {degrees[first]}
    idle = {}
    for name in ("fc", "topoopt"):
        points = LayerCuts().points(space, family_of(name, degree=3, semantics=CORRECTED), None, rng).strategies
        idle[name] = sum(not (np.unique(one.devices) >= 2).any() for one in points)  # type: ignore[union-attr]
    assert idle["fc"] < idle["topoopt"]  # with servers that only forward for others, where there can be links to them
    needed = [memory_needed(problem, one) for one in found]  # type: ignore[arg-type]
    limit = 0.5 * (min(needed) + max(needed))
    fitting = LayerCuts().points(space, family, limit, rng).strategies
    assert max(memory_needed(problem, one) for one in fitting) <= limit  # type: ignore[arg-type]
    assert {memory_needed(problem, one) for one in fitting} > {n for n in needed if n <= limit}  # type: ignore[arg-type]


def test_a_pipeline_has_stages_that_a_micro_batch_divides_over() -> None:
    """Of four samples no more than four servers have any; of one batch there are eight stages at most."""
    from flexnet import CORRECTED, Cluster, GraphBuilder, complete_table, make_problem, roofline_table
    from flexnet.network.build import family_of
    from flexnet.search.moves.blocks import home
    from flexnet.search.moves.space import make_space
    from flexnet.search.starts.data_parallel import data_parallel
    from flexnet.search.starts.layers import stage_counts
    from flexnet.search.starts.stages import Stages

    b = GraphBuilder("layers", 4)
    x = b.input(64)
    for _ in range(16):
        x = b.dense(x, 64)
    graph, rng = b.build(), np.random.default_rng(0)
    for n_server, divided in ((16, (1, 2, 4)), (12, (1, 2, 4))):  # not by three, though that is less than four
        table = complete_table(roofline_table(graph, "a100", n_server=n_server, over_all=False), graph)
        family = family_of("topoopt", degree=4, semantics=CORRECTED)
        one, many = (make_problem(graph, table, Cluster(n_server), CORRECTED, micro_batches=n) for n in (1, 8))
        assert (max(stage_counts(one)), max(stage_counts(many))) == ({16: 8, 12: 6}[n_server], n_server)
        space = make_space(many, strided=False, ordered=False)
        assert {(config.degrees, config.devices) for config in data_parallel(rng, space)} == {((1, 4), (0, 1, 2, 3))}
        found = Stages().points(space, family, None, rng).strategies
        sizes = {tuple(len(home(strategy, op)) for op in range(16)) for strategy in found}  # type: ignore[arg-type]
        assert sizes == {(size,) * 16 for size in divided}


@pytest.mark.compiled
def test_a_search_begins_with_layers_that_fit(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*LLAMA, *ON_FOUR, "--optimizer", "adam", "--gpu-memory", "0.13", "--search-budget", "5"]) == 0
    assert "the first fitting start" in capsys.readouterr().out
    assert run([*LLAMA, *ON_FOUR, "--optimizer", "adam", "--gpu-memory", "0.01", "--search-budget", "5"]) == 2
    (line,) = errors_of(capsys.readouterr().err)
    assert "the starting strategy needs" in line and "GB" in line and "raise --gpu-memory or use more servers" in line


def test_no_bound_is_told_of_the_originals_links(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SEARCH, "--semantics", "original", "--search-budget", "0", "-o", str(tmp_path)]) == 0
    assert "no plan takes less" not in capsys.readouterr().out
    assert "lower_bound_ms" not in run_json(tmp_path)


@pytest.mark.parametrize("method", ["portfolio", "mcmc"])
def test_a_resumed_search_makes_the_same_plan(method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    words = [*SEARCH, "--method", method, "--start", "dp", "--search-budget"]
    assert run([*words, "30", "-o", str(whole)]) == 0
    assert run([*words, "10", "-o", str(parts)]) == 0
    assert run(["search", "--resume", str(parts), "--search-budget", "30"]) == 0
    capsys.readouterr()
    assert (whole / "strategy.json").read_bytes() == (parts / "strategy.json").read_bytes()


@pytest.mark.compiled
def test_heavy_operators_are_on_some_servers_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of AlexNet both large matrices on 2, 4, 8 or 16 of 32 servers, mostly with convolutions on all; each once."""
    from flexnet import MODELS, Cluster, complete_table, make_problem, roofline_table
    from flexnet.network.build import family_of
    from flexnet.plan.semantics import CORRECTED
    from flexnet.plan.strategy import make_strategy
    from flexnet.search.moves.blocks import home
    from flexnet.search.moves.heavy import heavy_operators
    from flexnet.search.moves.space import make_space
    from flexnet.search.starts import heavy_sets
    from flexnet.search.starts.heavy_sets import HeavySets

    graph = MODELS["alexnet"].build({}, 2048)
    table = complete_table(roofline_table(graph, "a100", n_server=32, big_gpu=4), graph, big_gpu=4)
    problem = make_problem(graph, table, Cluster(32, 4, 2.5e10, 1.25e9, 1e-6, 4), CORRECTED)
    space, family = make_space(problem, strided=True), family_of("topoopt", degree=4, semantics=CORRECTED)
    points = HeavySets().points(space, family, None, np.random.default_rng(0)).strategies
    found, sizes = [make_strategy(problem, configs) for configs in points], set()  # type: ignore[arg-type]
    for strategy in found:
        most = max(len(home(strategy, op)) for op in heavy_operators(space))
        convolutions = [len(home(strategy, op)) for op, at in enumerate(graph.operators) if "Conv2D" in at.name]
        assert most <= 16
        if min(convolutions) == 32:
            sizes.add(most)
    assert sizes == {2, 4, 8, 16}
    assert len({(one.choice.tobytes(), one.devices.tobytes()) for one in found}) == len(found)
    monkeypatch.setattr(heavy_sets, "MOST_SOLVED", 100)
    assert not HeavySets().points(space, family, None, np.random.default_rng(0)).strategies


def test_memory_limits_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SEARCH, "--start", "dp", "--gpu-memory", "0.0000001"]) == 2
    assert "raise --gpu-memory" in errors_of(capsys.readouterr().err)[0]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--start", "best"],
            "it must be all, data, dp, groups, cut-groups, split-joins, heavy, heavy-sets, stages, layers or "
            "layer-cuts",
        ),
        (["--start", "dp", "--import", "plan.json"], "--start and --import exclude each other"),
    ],
)
def test_wrong_starts(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SEARCH, *words]) == 2
    assert sentence in errors_of(capsys.readouterr().err)[0]
