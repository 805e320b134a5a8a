"""How to search."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from flexnet.errors import FlexNetError
from flexnet.network.topologies import TOPOLOGIES
from flexnet.search.moves import MOVES
from flexnet.search.starts import STARTS
from flexnet.simulate.protocol import protocol_called

if TYPE_CHECKING:  # heavy: settings are made before anything is computed
    from flexnet.network.family import TopologyFamily
    from flexnet.network.topology import Topology
    from flexnet.plan.problem import Problem
    from flexnet.plan.semantics import Semantics

__all__ = ["ALL_STARTS", "METHODS", "NETWORKS", "REDUCTIONS", "Settings", "method_of"]

NETWORKS = ("fast", "fair")
METHODS = ("portfolio", "mcmc")
REDUCTIONS = ("ordered", "eager")
ALL_STARTS = "all"


def method_of(method: str | None, semantics: "Semantics") -> str:
    """The method that is meant: unless one is named, the portfolio, or the original's where networks drift."""
    return method or ("portfolio" if semantics.restore_topology else "mcmc")


@dataclass(frozen=True, slots=True)
class Settings:
    """How to search.

    Parameters
    ----------
    topology : str, TopologyFamily or Topology
        A name in `flexnet.network.topologies.TOPOLOGIES`, which then has the degree of the cluster; a family with
        parameters of its own; or one topology that is given.
    budget : int or None
        Proposals (the original's ``--search-budget``; one more is made), shared out over the jobs; None for no limit.
        A portfolio without any limit ends when it gains no more.
    time : float or None
        Seconds after which no more proposals are made; None for no limit.
    method : {"portfolio", "mcmc"} or None
        How strategies are searched: `flexnet.search.portfolio`, or the original's chain (`flexnet.search.alternate`).
        None: the portfolio with corrected semantics, the original's with its own.
    jobs : int
        Processes that search side by side; same seed and as many jobs, same plan.
    alpha : float
        Inverse temperature per ms of iteration time, of the original's method.
    seed : int
        Same seed, same plan.
    strided : bool
        Place parts evenly over the servers (``--net-opt 1``).
    propagation, parameter_parallel : bool
        Moves that propagate configs along edges; Linear operators cut along channels.
    segment_bytes : int
        Message size of the first-in-first-out link model; 0 for whole transfers.
    gpu_memory : float or None
        Bytes per GPU; None for no limit.
    start : str
        ``all``, or a name in `flexnet.search.starts.STARTS`: ``data`` for data parallelism alone, ``dp`` for what
        dynamic programming finds, ``groups`` for groups of operators on groups of servers, ``cut-groups`` for these
        with the best cuts of additive models, ``split-joins`` for what joins towers cut along the axis they are joined
        along, ``heavy`` for heavy operators cut in other ways, ``heavy-sets`` for them on some of the servers,
        ``stages`` for consecutive operators on servers of their own, ``layers`` for layers dealt out or cut where data
        parallelism does not fit into memory, ``layer-cuts`` for layers cut as is best for one of them, each beside data
        parallelism.  The original's method takes ``all`` for ``data``, models of 400 operators in layers take it for
        ``data``, ``stages``, ``layers`` and ``layer-cuts``, others for all but ``layer-cuts``; where no operator
        has half of all weights ``heavy-sets`` are left out, and of small plans ``heavy``.
    network : {"fast", "fair"}
        Price proposals fast, and the best ones again at full resolution; or all at full resolution.
    protocol : str
        Name in `flexnet.simulate.protocol.PROTOCOLS`: what the transport adds, where links are shared fairly.
    reductions : {"ordered", "eager"}
        Whether a portfolio may let all-reduces wait for the backward pass of other operators, so that transfers have
        the links; or all start as soon as their gradients are there.
    bucket_bytes : float or None
        Bytes up to which one all-reduce carries the gradients of several weights, 0 for one of each weight.  None: what
        is best, of some sizes, where a portfolio prices all rounds of all-reduces; FlexNetPacket cuts small ones short,
        and each weight has one of its own.
    moves : Mapping[str, float] or None
        Shares of the moves in `flexnet.search.moves.MOVES` by name; None for moves of blocks, and by the original's
        method for what ``propagation`` says.
    topology_parameters : Mapping[str, float or None] or None
        Of a topology family by its name, those beside degree and semantics (``servers_per_leaf``, ``ports``); None for
        what it has by itself.

    Raises
    ------
    FlexNetError
        If a name is unknown, or a number out of range.
    """

    topology: "str | TopologyFamily | Topology"
    budget: int | None = 0
    alpha: float = 1.0
    seed: int = 0
    strided: bool = False
    propagation: bool = False
    parameter_parallel: bool = False
    segment_bytes: int = 0
    gpu_memory: float | None = None
    start: str = ALL_STARTS
    network: str = "fast"
    moves: Mapping[str, float] | None = None
    time: float | None = None
    method: str | None = None
    jobs: int = 1
    protocol: str = "flexnetpacket"
    reductions: str = "ordered"
    bucket_bytes: float | None = None
    topology_parameters: Mapping[str, float | None] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.topology, str):
            TOPOLOGIES.check(self.topology)
        if self.start != ALL_STARTS:
            STARTS.check(self.start)
        if self.method not in (None, *METHODS):
            raise FlexNetError(f"unknown method {self.method!r}; choose one of {', '.join(METHODS)}")
        if self.time is not None and not 0 < self.time < float("inf"):
            raise FlexNetError(f"the time is {self.time} s; it must be a finite number above 0")
        if self.jobs < 1:
            raise FlexNetError(f"the search has {self.jobs} jobs; it needs at least 1")
        if self.network not in NETWORKS:
            raise FlexNetError(f"unknown network model {self.network!r}; choose one of {', '.join(NETWORKS)}")
        protocol = protocol_called(self.protocol)
        if self.reductions not in REDUCTIONS:
            raise FlexNetError(f"unknown reductions {self.reductions!r}; choose one of {', '.join(REDUCTIONS)}")
        if self.bucket_bytes is not None and not 0 <= self.bucket_bytes < float("inf"):
            raise FlexNetError(f"a bucket has {self.bucket_bytes} bytes; it must be a finite number, 0 or more")
        if self.bucket_bytes and protocol.small_packet_bytes > 0:
            raise FlexNetError(
                f"buckets are for protocols that run all rounds of all-reduces; {self.protocol} cuts small ones short, "
                "which would be small no more"
            )
        if self.budget is not None and self.budget < 0:
            raise FlexNetError(f"the search budget is {self.budget}; it must be 0 or more")
        if not 0 <= self.alpha < float("inf"):
            raise FlexNetError(f"alpha is {self.alpha}; it must be a finite number, 0 or more")
        if self.seed < 0:
            raise FlexNetError(f"the seed is {self.seed}; it must be 0 or more")
        if self.segment_bytes < 0:
            raise FlexNetError(f"the segment size is {self.segment_bytes} bytes; use 0 (whole transfers) or more")
        if self.gpu_memory is not None and not self.gpu_memory > 0:
            raise FlexNetError(f"the GPU memory is {self.gpu_memory} bytes; it must be above 0")
        for name, share in (self.moves or {}).items():
            MOVES.check(name)
            if not 0 < share < float("inf"):
                raise FlexNetError(f"the share of move {name} is {share}; it must be a finite number above 0")
        if self.reductions == "eager" and "hold" in (self.moves or {}):
            raise FlexNetError("move hold lets reductions wait, which eager ones do not; leave out one of the two")
        if self.moves is not None and not self.moves:
            raise FlexNetError("the search has no moves; give at least one a share")

    @property
    def topology_name(self) -> str:
        """The name of the topology, or of its family."""
        return self.topology if isinstance(self.topology, str) else self.topology.name

    def family(self, problem: "Problem") -> "TopologyFamily":
        """The topology family that is meant, for the cluster and the semantics of a problem."""
        from flexnet.network.build import family_of

        own = self.topology_parameters or {}
        return family_of(self.topology, degree=problem.cluster.degree, semantics=problem.semantics, **own)

    def to_dict(self) -> dict[str, object]:
        """The settings as JSON can hold them; moves, and parameters of a topology, only where they are set here."""
        values = {item.name: getattr(self, item.name) for item in fields(self)} | {"topology": self.topology_name}
        parameters = values.pop("topology_parameters")
        values |= {"topology_parameters": dict(parameters)} if parameters else {}
        moves = values.pop("moves")
        return values if moves is None else {**values, "moves": dict(moves)}
