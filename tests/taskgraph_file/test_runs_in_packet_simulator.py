"""What is searched can be run: every model on every topology under both semantics makes a file simulators accept."""

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

from flexnet.cost.roofline import roofline_table
from flexnet.model.zoo import MODELS
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import PRESETS
from flexnet.plan.task_graph_builder import build
from flexnet.plan.task_kinds import NOMINAL_COMM
from flexnet.search.driver import drive
from flexnet.search.prepare import prepare
from flexnet.search.settings import Settings
from flexnet.taskgraph_file.convert import to_network, to_task_graph
from flexnet.taskgraph_file.read import read_taskgraph
from flexnet.taskgraph_file.write import write_taskgraph
from flexnet.units import gbps_to_bytes_per_s, us_to_s

TOPOLOGIES = ("topoopt", "fattree", "random", "fc")
N_SERVER = 16  # a size of the packet simulator's fat-trees
Written = tuple[str, list[tuple[str, Path]]]
BATCH = 80  # the experts of MoE get 64 rows

SMALL: dict[str, dict[str, str]] = {
    "dlrm": {"--arch-embedding-size": "100-200-300", "--arch-sparse-feature-size": "16", "--arch-mlp-bot": "8-16"},
    "candle_uno": {"--dense-layers": "16-8", "--dense-feature-layers": "32-16"},
    "transformer": {"--num-layers": "2", "--hidden-size": "32", "--num-heads": "4", "--sequence-length": "16"},
    "ncf": {"--ntables": "2"},
    **{model: {"--num-layers": "2"} for model in ("gpt", "vit", "bert", "t5")},
    **{model: {"--num-layers": "1"} for model in ("llama", "mixtral")},
}


@pytest.fixture(scope="module", params=[(m, s) for m in MODELS for s in PRESETS], ids="-".join)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A model's files, written once for all that read them."""
    model, semantics = request.param
    return model, write(model, semantics, tmp_path_factory.mktemp("files"))


def write(model: str, semantics: str, directory: Path) -> list[tuple[str, Path]]:
    """Search a few proposals on every topology, and write the plan they lead to.

    Every proposal is accepted, so that plans stray from data parallelism, whose files are all alike.
    """
    graph = MODELS[model].build(SMALL.get(model, {}), BATCH)
    channels = semantics == "corrected"  # Linear operators cut along channels too
    table = roofline_table(graph, "a100", n_server=N_SERVER, parameter_parallel=channels)
    cluster = Cluster(N_SERVER, link_bandwidth=gbps_to_bytes_per_s(100), latency=us_to_s(1), degree=4)
    problem = make_problem(graph, table, cluster, PRESETS[semantics])
    files = []
    for topology in TOPOLOGIES:
        flags = {"strided": True, "propagation": True, "parameter_parallel": channels}
        ready = prepare(problem, Settings(topology, 1000, method="mcmc", alpha=0.0, seed=1, **flags))
        plan = drive(ready.search, ready.rng, ready.state, 19).state.current
        timeline = ready.search.pricer.exact(plan.strategy, plan.network, plan.directions)
        path = directory / f"{model}.{topology}.{semantics}.fbuf"
        write_taskgraph(
            path,
            build(problem, plan.strategy),
            plan.network,
            operators=[(op.name, int(op.kind)) for op in graph.operators],
            run_seconds=timeline.end - timeline.start,
            inter_gpu_bandwidth=cluster.inter_gpu_bandwidth,
        )
        files.append((topology, path))
    return files


@pytest.mark.compiled
def test_our_reader_accepts_it(written: Written) -> None:
    model, files = written
    for topology, path in files:
        file = read_taskgraph(path)
        to_task_graph(file).check()
        network = to_network(file, 1e9, 0.0)
        network.topology.check(4 if topology in ("topoopt", "random") else None)
        assert (file.n_server, file.n_switch) == (N_SERVER, topology == "fattree")
        assert topology == "topoopt" or not file.has_rings
        assert len(file.operators.name) == len(MODELS[model].build(SMALL.get(model, {}), BATCH).operators)
        assert np.isfinite(file.tasks.run_ms).all()
        assert (file.tasks.kind == NOMINAL_COMM).any()


@pytest.mark.compiled
def test_the_cpp_verifier_accepts_it(written: Written, cpp_accepts: Callable[[Iterable[Path]], list[bool]]) -> None:
    _, files = written
    assert cpp_accepts([path for _, path in files]) == [True] * 4


@pytest.mark.compiled
def test_the_published_acceptance_checks_accept_it(
    written: Written, acceptance_check: Callable[[Path, str, int], str]
) -> None:
    _, files = written
    for topology, path in files:
        said = acceptance_check(path, "fattree" if topology == "fattree" else "flat", N_SERVER)
        assert said.startswith(f"{path.name} OK "), said
