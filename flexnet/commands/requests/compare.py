"""What ``flexnet compare`` is asked to do: its flags, and the networks they become, once."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexnet.commands.requests.contender import Contender, Terms, fabric_of
from flexnet.commands.requests.flags import Flag, switch
from flexnet.commands.requests.limits import degree_of
from flexnet.commands.requests.model_command import Asked
from flexnet.commands.requests.search_flags import MAX_BUDGET, SEARCH_FLAGS
from flexnet.commands.requests.shared_flags import OF_SWITCHES
from flexnet.commands.requests.types import FilePath, Name, Number, Whole
from flexnet.errors import FlexNetError, counted
from flexnet.network.topologies import TOPOLOGIES
from flexnet.prices import PANELS, READINGS

if TYPE_CHECKING:  # heavy: only after all flags are read
    from flexnet.prices.fabrics import Fabric

__all__ = ["COMPARE_FLAGS", "CompareRequest", "compare_request"]

BUDGET = 2000  # proposals for every network unless something else is asked
_TOPOLOGIES = "topoopt,random,fattree,leafspine"
_GBPS = 100.0

_OF_SEARCH = (
    *("batch_size", "nsimnode", "big_gpu", "node_degree", "network_latency", "inter_gpu_bandwidth", "mfile", "gpu"),
    *("dtype", "cuts", "gpu_memory", "optimizer", "micro_batches", "tensor_parallel", "time", "jobs", "seed"),
)
_OWN_WORDS = ("--nsimnode", "--node-degree", "--seed", "--search-budget", "--time")  # said for every network anew

COMPARE_FLAGS = [
    Flag(
        ["topologies", "--topology"],
        default=_TOPOLOGIES,
        metavar="NAME,NAME..",
        help=f"networks to compare: {', '.join(TOPOLOGIES)}, or .graphml and .json files (default {_TOPOLOGIES})",
    ),
    Flag(
        ["same", "--same"],
        type=Name(READINGS),
        default="cost",
        metavar="NAME",
        help="what they have in common: cost: the money (default); bandwidth: Gbps of a server; degree: interfaces of "
        "a server, and their speed",
    ),
    Flag(
        ["dollars", "--dollars"],
        type=Number(1.0, 1e12, "USD"),
        metavar="USD",
        help="the money, for --same cost (default: what the first network costs with --node-degree interfaces)",
    ),
    Flag(
        ["interface_bandwidth", "--interface-bandwidth"],
        type=Number(1e-6, 1e6, "Gbps"),
        default=_GBPS,
        metavar="GBPS",
        help="bandwidth of one interface (default 100)",
    ),
    Flag(
        ["prices", "--prices"],
        type=FilePath(),
        metavar="FILE",
        help="prices of components, as JSON (default: those that come with flexnet, from 40 to 800 Gbps)",
    ),
    switch("no_prices", "--no-prices", "compare without dollars, at speeds that have no price too"),
    Flag(
        ["panel", "--panel"],
        type=Name(PANELS),
        default="patch",
        metavar="NAME",
        help="what joins servers that are linked directly: patch: a patch panel (default), or ocs: an optical switch",
    ),
    Flag(
        ["draws", "--draws"],
        type=Whole(1, 100),
        default=3,
        metavar="N",
        help="random networks to draw and search; the median counts, the spread is told (default 3)",
    ),
    switch("explain", "--explain", "tell the components that prices are made of; without MODEL, only these"),
    switch("as_json", "--json", "print one JSON object"),
    Flag(
        ["output", "--output", "-o"],
        type=FilePath(directory=True),
        metavar="DIR",
        help="write report.html and compare.json there",
    ),
    Flag(
        ["search_budget", "--search-budget", "--budget"],
        type=Whole(0, MAX_BUDGET),
        metavar="N",
        help=f"proposals for every network, one more is made (default {BUDGET}, or as many as --time allows)",
    ),
    *(flag for flag in SEARCH_FLAGS if flag.name in _OF_SEARCH),
    *OF_SWITCHES,
]


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """Networks to compare.

    Parameters
    ----------
    fabrics : tuple of Fabric
    terms : Terms
    words : tuple of str
        Of the search that every network gets; empty without a model.
    n_server : int
    draws : int
        Of random networks.
    seed : int
    effort : str
        How hard every network is searched, in words.
    explain, as_json : bool
    output : Path or None
    """

    fabrics: "tuple[Fabric, ...]"
    terms: Terms
    words: tuple[str, ...]
    n_server: int
    draws: int
    seed: int
    effort: str
    explain: bool
    as_json: bool
    output: Path | None

    @property
    def title(self) -> str:
        """What is compared."""
        model = self.words[0] if self.words else "prices"
        return f"{model} on {counted(self.n_server, 'server')}"

    def contenders(self) -> list[Contender | tuple[str, str]]:
        """Every network; of those that cannot be had on these terms, the name and a sentence on why.

        Raises
        ------
        FlexNetError
            If one cannot be wired so, or has no price.
        """
        from flexnet.prices.fabrics import NotToBeHadError

        found: list[Contender | tuple[str, str]] = []
        for fabric in self.fabrics:
            try:
                found.append(Contender.of(fabric, self.terms))
            except NotToBeHadError as answer:
                found.append((fabric.name, str(answer)))
        return found

    def sentences(self) -> tuple[str, ...]:
        """What the networks have in common, how hard they are searched, where prices are from."""
        terms = self.terms
        told = {
            "cost": f"same cost: ${terms.dollars:,.0f}" + (f", that of {terms.reference}" if terms.reference else ""),
            "bandwidth": f"same bandwidth: {terms.asked.total_gbps:g} Gbps of a server",
            "degree": f"same degree: {terms.asked} of a server",
        }[terms.same]
        searched = (f"each searched for {self.effort}",) if self.words else ()
        prices = (f"prices: {terms.prices.source or terms.prices.name}",) if terms.prices is not None else ()
        return (told, *searched, *prices)

    def draws_of(self, contender: Contender) -> int:
        """How many times a network is drawn and searched: only those that chance wires more than once."""
        return self.draws if contender.fabric.name == "random" else 1


def compare_request(asked: Asked) -> CompareRequest:
    """Make networks of what was asked.

    Raises
    ------
    FlexNetError
        If a topology is unknown, flags contradict each other, or prices are missing.
    """
    from flexnet.prices.fabrics import Interfaces
    from flexnet.prices.table import read_prices

    values = asked.values
    if asked.model is None and not values["explain"]:
        raise FlexNetError("no model given; use flexnet compare MODEL, or --explain to see prices alone")
    if values["no_prices"] and (values["same"] == "cost" or values["prices"] is not None or values["explain"]):
        raise FlexNetError("--no-prices needs --same bandwidth or degree, and neither --prices nor --explain")
    if values["dollars"] is not None and values["same"] != "cost":
        raise FlexNetError(f"--dollars is for --same cost; it is --same {values['same']}")
    names = [name.strip() for name in str(values["topologies"]).split(",") if name.strip()]
    if not names or len(set(names)) < len(names):
        raise FlexNetError(f"--topology is {values['topologies']!r}; it must name networks, each once, with commas")
    parameters = {flag.name: values[flag.name] for flag in OF_SWITCHES}
    drawn = [fabric_of(name, values["nsimnode"], parameters, values["panel"]) for name in names if "." in name]
    n_server = values["nsimnode"] or (drawn[0].n_server if drawn else 1)
    fabrics = tuple(fabric_of(name, n_server, parameters, values["panel"]) for name in names)
    interfaces = Interfaces(degree_of(values, asked.given, n_server), values["interface_bandwidth"])
    prices = None if values["no_prices"] else read_prices(values["prices"])
    dollars, reference = values["dollars"] or 0.0, ""
    if values["same"] == "cost" and not dollars:
        assert prices is not None
        first = fabrics[0]
        reference = first.name
        dollars = first.bill(first.as_asked(interfaces)).dollars(prices)
    return CompareRequest(
        fabrics=fabrics,
        terms=Terms(interfaces, values["same"], prices, dollars, reference),
        words=() if asked.model is None else _words(asked),
        n_server=n_server,
        draws=values["draws"],
        seed=values["seed"],
        effort=_effort(values),
        explain=values["explain"],
        as_json=values["as_json"],
        output=values["output"],
    )


def _effort(values: dict[str, Any]) -> str:
    limits = [] if values["search_budget"] is None else [counted(values["search_budget"] + 1, "proposal")]
    limits += [] if values["time"] is None else [f"{values['time']:g} s"]
    jobs = f", {values['jobs']} jobs" if values["jobs"] > 1 else ""
    return (" or ".join(limits) or counted(BUDGET + 1, "proposal")) + jobs + f", seed {values['seed']}"


def _words(asked: Asked) -> tuple[str, ...]:
    """Words of the search that every network gets."""
    assert asked.model is not None
    of_search = {flag.opts[0] for flag in SEARCH_FLAGS if flag.name in _OF_SEARCH} - set(_OWN_WORDS)
    given = {flag: text for flag, text in asked.given.items() if flag in of_search}
    pairs = [word for flag, text in {**given, **asked.model_given}.items() for word in (flag, text) if word]
    return (asked.model, *pairs, *_limits(asked.given))


def _limits(given: Any) -> Sequence[str]:
    """Of the search: those that were given, or a number of proposals that is the same for all."""
    limits = [word for flag in ("--search-budget", "--time") if flag in given for word in (flag, given[flag])]
    return limits or ("--search-budget", str(BUDGET))
