"""The flags of ``flexnet search``, which stopped runs are read with, too."""

from collections.abc import Sequence

from flexnet.commands.requests.flags import Flag, switch
from flexnet.commands.requests.limits import MAX_GPUS, MAX_INTEGER, MAX_MICRO_BATCHES, MAX_SERVERS
from flexnet.commands.requests.model_command import Asked, ModelCommand, model_argument
from flexnet.commands.requests.shared_flags import BATCH_SIZE, BIG_GPU, OF_SWITCHES, PARAMETER_PARALLEL, dtype_flag
from flexnet.commands.requests.types import FilePath, Limit, Name, Number, Segments, TopologyName, Whole, WholeOrAuto
from flexnet.cost.configs import CUTS
from flexnet.cost.gpus import GPUS
from flexnet.network.topologies import TOPOLOGIES
from flexnet.plan.optimizers import OPTIMIZERS
from flexnet.plan.semantics import PRESETS
from flexnet.search.outputs import OUTPUTS
from flexnet.search.settings import ALL_STARTS, METHODS, NETWORKS, REDUCTIONS
from flexnet.search.starts import STARTS
from flexnet.simulate.protocol import PROTOCOLS

__all__ = ["MAX_BUDGET", "SEARCH_FLAGS", "parse_search"]

MAX_BUDGET = 10**12  # eleven days of a million proposals a second

SEARCH_FLAGS = [
    BATCH_SIZE,
    Flag(
        ["nsimnode", "--nsimnode"],
        type=Whole(1, MAX_SERVERS),
        metavar="N",
        help="servers (default 1, or those of the topology file)",
    ),
    Flag(
        ["topology", "--topology"],
        type=TopologyName(lambda: tuple(TOPOLOGIES)),
        metavar="NAME|FILE",
        help="{names}, or a network in a .graphml or node-link .json file; required (fc: full mesh)",
    ),
    Flag(
        ["node_degree", "--node-degree", "--degree"],
        type=Whole(1, 1024),
        default=4,
        metavar="D",
        help="interfaces of a server, for topoopt and random (default 4)",
    ),
    *OF_SWITCHES,
    Flag(
        ["interface_bandwidth", "--interface-bandwidth"],
        type=Number(1e-6, 1e6, "Gbps"),
        metavar="GBPS",
        help="bandwidth of one interface (default 20.97152, the original's 2500 MiB/s)",
    ),
    Flag(
        ["network_latency", "--network-latency"],
        type=Number(0.0, 1e6, "microseconds"),
        metavar="US",
        help="latency of a link in microseconds (default 1, as of flexnet simulate; 0 with --semantics original)",
    ),
    BIG_GPU,
    Flag(
        ["inter_gpu_bandwidth", "--inter-gpu-bandwidth"],
        type=Number(1e-6, 1e6, "Gbps"),
        metavar="GBPS",
        help="bandwidth between the GPUs of a server (default 167.77216, the original's 20000 MiB/s)",
    ),
    Flag(
        ["mfile", "--mfile"],
        type=FilePath(),
        metavar="FILE",
        help="measurement file; without one, times are estimated for --gpu",
    ),
    Flag(
        ["gpu", "--gpu"],
        type=Name(sorted(GPUS)),
        metavar="NAME",
        help="GPU to estimate times for: {names} (default a100); with --mfile, of cuts that the file lacks",
    ),
    dtype_flag(
        "arithmetic to estimate times, memory and transfers for: {names} (default that of the model; of the original's "
        "models 4 bytes an element, with TF32 where their libraries choose it)"
    ),
    Flag(
        ["cuts", "--cuts"],
        type=Name(CUTS),
        metavar="NAME",
        help="ways to cut operators: all (default), with estimated times where none are measured; or measured",
    ),
    Flag(
        ["gpu_memory", "--gpu-memory"],
        type=Limit(1e-9, 1e9, "GB"),
        metavar="GB",
        help="memory of a GPU, or none for no limit; strategies that need more are refused (default: that of the GPU, "
        "where it is known)",
    ),
    Flag(
        ["optimizer", "--optimizer"],
        type=Name(sorted(OPTIMIZERS)),
        default="sgd",
        metavar="NAME",
        help="optimizer whose state needs memory: {names} (default sgd, which has none)",
    ),
    Flag(
        ["micro_batches", "--micro-batches"],
        type=WholeOrAuto(1, MAX_MICRO_BATCHES),
        default=1,
        metavar="N|auto",
        help="parts of the batch, after all of which gradients are reduced, as in pipelines and gradient accumulation "
        "(default 1; auto: the most promising number up to 64); a measurement file is of one",
    ),
    Flag(
        ["tensor_parallel", "--tensor-parallel"],
        type=WholeOrAuto(1, MAX_GPUS),
        default=1,
        metavar="T|auto",
        help="GPUs of a server that share more of its parts than samples, most of all weights, a divisor of --big-gpu "
        "(default 1: each has all weights of its server; auto: 1 or all GPUs, what is more promising)",
    ),
    Flag(
        ["net_opt", "--net-opt"],
        type=Whole(0, 1),
        default=0,
        metavar="0|1",
        help="1 spreads the parts of an operator evenly over the servers (default 0: side by side)",
    ),
    switch(
        "enable_propagation",
        "--enable-propagation",
        "a quarter of the proposals of --method mcmc copy a config along the model's edges",
    ),
    PARAMETER_PARALLEL,
    Flag(
        ["search_budget", "--search-budget", "--budget"],
        type=Whole(0, MAX_BUDGET),
        metavar="N",
        help="proposals; one more is made, as in the original (default: as many as bring something)",
    ),
    Flag(
        ["time", "--time"],
        type=Number(1e-3, 1e9, "seconds"),
        metavar="S",
        help="make no more proposals after S seconds (default: no limit)",
    ),
    Flag(
        ["jobs", "--jobs"],
        type=Whole(1, 256),
        default=1,
        metavar="N",
        help="processes that search side by side; the plan depends on N (default 1)",
    ),
    Flag(
        ["method", "--method"],
        type=Name(METHODS),
        metavar="NAME",
        help="portfolio: many starts, annealed in rounds by moves of blocks (default), or mcmc: the original's chain, "
        "which is the default with --semantics original",
    ),
    Flag(
        ["search_alpha", "--search-alpha", "--alpha"],
        type=Number(0.0, 1e12, "1/ms"),
        default=1.0,
        metavar="A",
        help="inverse temperature of --method mcmc, per ms (default 1.0)",
    ),
    Flag(
        ["seed", "--seed"], type=Whole(0, MAX_INTEGER), default=0, metavar="N", help="same seed, same plan (default 0)"
    ),
    Flag(
        ["semantics", "--semantics"],
        type=Name(PRESETS),
        default="corrected",
        metavar="NAME",
        help="what a plan costs: corrected (default) or original",
    ),
    Flag(
        ["network", "--network"],
        type=Name(NETWORKS),
        default="fast",
        metavar="NAME",
        help="fast (default): proposals are priced fast, the best ones again exactly; fair: all are priced exactly",
    ),
    Flag(
        ["protocol", "--protocol"],
        type=Name(PROTOCOLS),
        default="flexnetpacket",
        metavar="NAME",
        help="what the transport adds: flexnetpacket (default), dctcp, roce or fluid, as in flexnet simulate; "
        "corrected semantics only",
    ),
    Flag(
        ["reductions", "--reductions"],
        type=Name(REDUCTIONS),
        default="ordered",
        metavar="NAME",
        help="ordered (default): all-reduces may wait until transfers that others wait for are through; eager: each "
        "starts as soon as its gradients are there, as with --method mcmc",
    ),
    Flag(
        ["bucket_mb", "--bucket-mb"],
        type=Number(0.0, 1e6, "MB"),
        metavar="MB",
        help="one all-reduce for gradients of up to MB in place of one for each weight, 0 for none; not with protocol "
        "flexnetpacket, which cuts small ones short (default: of 0 to 32 the best, none with --method mcmc)",
    ),
    Flag(
        ["segment_bytes", "--segment-bytes"],
        type=Segments(),
        default=0,
        metavar="N",
        help="cut transfers into messages; original semantics only (default 0: whole)",
    ),
    Flag(
        ["start", "--start"],
        type=Name(lambda: (ALL_STARTS, *STARTS)),
        default=ALL_STARTS,
        metavar="NAME",
        help="what is begun with beside data parallelism: all (default), data: nothing, dp: optima of dynamic "
        "programming, groups of operators on groups of servers, cut-groups: the same with the best cuts of additive "
        "models, split-joins: what joins towers cut as they are joined, heavy: heavy operators cut in other ways, "
        "heavy-sets: these on some of the servers, "
        "stages: consecutive operators on servers of their own, layers dealt out or cut where memory needs it, or "
        "layer-cuts: layers cut as is best for one of them; --method mcmc takes all for data",
    ),
    Flag(
        ["start_file", "--import", "--import-strategy"],
        type=FilePath(),
        metavar="FILE",
        help="strategy to start from and nothing else, in either format; cuts and places without the network "
        "that it was found on",
    ),
    Flag(
        ["known_file", "--warm-start"],
        type=FilePath(),
        metavar="FILE",
        help="strategy that was found before, for this model, to begin with beside the others; without "
        "its network, as --import",
    ),
    Flag(
        ["export", "--export", "--export-strategy"],
        type=FilePath(),
        metavar="FILE",
        help="write the best strategy: JSON if FILE ends in .json, else text",
    ),
    Flag(
        ["taskgraph", "--taskgraph"],
        type=FilePath(),
        metavar="FILE",
        help="write the task graph of the best plan, for the packet simulator",
    ),
    Flag(
        ["output", "--output", "-o"],
        type=FilePath(directory=True),
        metavar="DIR",
        help=f"write run.json, {', '.join(OUTPUTS)}, checkpoint.json, history.json and report.html there",
    ),
    switch(
        "overwrite", "--overwrite", "replace the run that --output DIR holds; without it, such a directory is refused"
    ),
    switch("no_report", "--no-report", "do not write report.html to --output DIR"),
    switch("as_json", "--json", "print one JSON object at the end and nothing before it"),
    Flag(
        ["resume", "--resume"],
        type=FilePath(directory=True),
        metavar="DIR",
        help="go on with a stopped run, with its flags; only --search-budget and --time (from then on) may differ",
    ),
]


def parse_search(words: Sequence[str]) -> Asked:
    """What ``flexnet search`` with these words asks, without running it.

    Raises
    ------
    FlexNetError, click.ClickException
        If they are wrong.
    """
    return ModelCommand("search", params=[model_argument(), *SEARCH_FLAGS]).parse(list(words))
