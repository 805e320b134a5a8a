"""The report of a run: its page, from what is told of it."""

from flexnet.errors import counted
from flexnet.network.network import gbps_text, us_text
from flexnet.report.page import Fact, Page, render_page
from flexnet.report.run import Run
from flexnet.report.sections.demand import demand_section
from flexnet.report.sections.limits import limits_section
from flexnet.report.sections.memory import memory_section
from flexnet.report.sections.network import network_section
from flexnet.report.sections.origin import origin_section
from flexnet.report.sections.result import result_section
from flexnet.report.sections.search import search_section
from flexnet.report.sections.strategy import strategy_section
from flexnet.report.values import RunValues, run_values
from flexnet.search.opening import batches_text, groups_of_text
from flexnet.units import bytes_text, ms_text

__all__ = ["run_page", "run_report"]


def run_report(run: Run) -> str:
    """HTML of the report of a run.

    Raises
    ------
    FlexNetError
        If the extra ``report`` is not installed.
    """
    return render_page(run_page(run, run_values(run)))


def run_page(run: Run, values: RunValues) -> Page:
    """The page of a run, in the order in which people ask: how fast, why, what, how it was found, from what."""
    document, network, inputs = run.document, run.plan.network, run.document["inputs"]
    topology, servers = str(document["topology"]), counted(values.network.n_server, "server")
    gpus = f" of {inputs['big_gpu']} GPUs" if inputs["big_gpu"] > 1 else ""
    groups, micro = groups_of_text(inputs.get("tensor_parallel", 1)), batches_text(inputs.get("micro_batches", 1))
    speeds = f"{gbps_text(network)} Gbps and {us_text(network)} us"
    start = str(document.get("start", "data-parallel"))
    status = "" if document["status"] == "finished" else f" The search was {document['status']}: better may be found."
    return Page(
        kicker="flexnet search",
        title=f"{inputs['model']} on {servers}, {topology}",
        subtitle=(
            f"Batch {inputs['batch_size']}{micro}, {servers}{gpus}{groups}, links of {speeds}, "
            f"{document['semantics']} semantics. "
            f"Times {'are estimates' if document['estimated'] else 'were measured'}: {document['times']}.{status}"
        ),
        facts=_facts(values),
        sections=(
            result_section(values, start, micro + groups),
            limits_section(values),
            network_section(values, topology, speeds),
            strategy_section(values),
            search_section(values),
            demand_section(values),
            memory_section(values),
            origin_section(document),
        ),
        footer=f"Made by flexnet {document['versions'].get('flexnet', '')}. This page needs no network and no scripts.",
    )


def _facts(values: RunValues) -> tuple[Fact, ...]:
    """What is seen first."""
    compute, allreduce, transfers, _ = values.mean
    total, memory = max(values.seconds, 1e-300), values.memory
    note = "estimated" if values.estimated else "measured"
    facts = [
        Fact("iteration", ms_text(values.seconds), f"from {note} times"),
        Fact("faster than the start", f"{values.start_seconds / total:.2f}x", ms_text(values.start_seconds)),
    ]
    if values.bound is not None:
        facts.append(Fact("of the bound", f"{total / values.bound:.2f}x", f"no plan below {ms_text(values.bound)}"))
    exposed = f"{ms_text(allreduce + transfers)} waits for the network"
    facts.append(Fact("a server computes", f"{100 * compute / total:.0f} %", exposed))
    limit = "" if values.memory_limit is None else f"of {bytes_text(values.memory_limit)}"
    facts.append(Fact("on the fullest server", bytes_text(float(memory.max())), limit))
    return tuple(facts)
