"""What to tell before a search."""

from flexnet.cost.table import CostTable
from flexnet.errors import counted
from flexnet.network.build import family_of
from flexnet.network.network import gbps_text, us_text
from flexnet.search.plan import Plan
from flexnet.search.settings import Settings
from flexnet.units import ms_text

__all__ = ["arithmetic_text", "batches_text", "groups_of_text", "has_degree", "opening_lines"]


def opening_lines(start: Plan, settings: Settings) -> list[str]:
    """What to tell before a search: model, cluster, network, where times come from, and the start."""
    problem = start.problem
    graph, cluster = problem.graph, problem.cluster
    gpus = f" of {cluster.big_gpu} GPUs" if cluster.big_gpu > 1 else ""
    gpus += groups_of_text(problem.parallel.gpus)
    batch = f"{problem.micro_batches * graph.batch_size}"
    batch += batches_text(problem.micro_batches)
    degree = f", degree {cluster.degree}" if has_degree(settings) else ""
    return [
        f"{graph.name}, batch {batch}, {counted(cluster.n_server, 'server')}{gpus}; "
        f"{settings.topology_name}{degree}, {gbps_text(start.network)} Gbps, {us_text(start.network)} us; "
        f"{problem.semantics.name} semantics",
        f"times {problem.table.origin}",
        f"start {ms_text(start.seconds)}; {_limits(settings)}, seed {settings.seed}",
    ]


def _limits(settings: Settings) -> str:
    """What ends the search."""
    limits = [] if settings.budget is None else [counted(settings.budget + 1, "proposal")]
    limits += [] if settings.time is None else [f"{settings.time:g} s"]
    jobs = "" if settings.jobs == 1 else f", {settings.jobs} jobs"
    return (" or ".join(limits) or "until nothing is gained") + jobs


def arithmetic_text(table: CostTable) -> str:
    """The arithmetic that times are of: fp32 where they are estimated, else what the file says, if it does."""
    said = table.provenance.get("dtype")
    if isinstance(said, str):
        return f"{said} arithmetic"
    return "fp32 arithmetic" if table.estimated else "arithmetic not recorded"


def has_degree(settings: Settings) -> bool:
    """Whether interfaces are a parameter of the topology that is searched."""
    return "degree" in family_of(settings.topology).parameters()


def batches_text(micro_batches: int) -> str:
    """In how many micro-batches, if there are several."""
    return f" in {micro_batches} micro-batches" if micro_batches > 1 else ""


def groups_of_text(gpus: int) -> str:
    """In groups of how many GPUs, if of several."""
    return f" in groups of {gpus}" if gpus > 1 else ""
