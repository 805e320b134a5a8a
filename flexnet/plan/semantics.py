"""What the cost of a strategy means: two presets of one frozen dataclass.

``ORIGINAL`` reproduces the released FlexNet cost for cost, defects included; ``CORRECTED`` is what the
TopoOpt paper means.  Every field is one row of the list of departures in docs/costs.md.
"""

from dataclasses import dataclass

__all__ = ["CORRECTED", "ORIGINAL", "PRESETS", "Semantics"]


@dataclass(frozen=True, slots=True)
class Semantics:
    """Choices on which the released FlexNet and the paper differ.

    Parameters
    ----------
    name : str
        ``"original"`` or ``"corrected"``.
    inherit_element_size : bool
        Outputs take the data type of input 0, so embedding activations count 8 bytes (model.cc, Embedding).
    fair_links : bool
        Simultaneous transfers share a link max-min fairly and latency delays without occupying; otherwise
        links serve whole messages first in, first out, each holding the link for latency + bytes/bandwidth
        (simulator.cc:1053).
    intra_server_factor_exact : bool
        Intra-server all-reduce moves 2(k-1)/k of the bytes and counts for one-server groups too; otherwise 2/k,
        lost for one-server groups (simulator.cc:1827).  Embeddings have none either way: a part of one lives on one
        GPU, where it is measured.
    random_ring_direction : bool
        Rings over shortest routes run forwards or backwards at random (simulator.cc:1241); otherwise forwards.
    split_degree : bool
        Interfaces are divided between all-reduce rings and model-parallel matching in proportion to traffic
        (paper Alg. 1 line 1); otherwise all go to rings (network.cc:1852).
    proportional_rings : bool
        Ring interfaces are shared over group sizes in proportion to their traffic (paper Alg. 1 line 2);
        otherwise the heaviest group takes all (network.cc:1901).
    volume_factor_exact : bool
        A group of g moves 2(g-1)/g of its bytes in the topology's accounting; otherwise (2g-1)/g (network.cc:1718).
    coin_change_routes : bool
        Server pairs joined by rings alone are routed by coin change over the ring jumps (paper Alg. 1 line 4), over
        switches by their target; otherwise one random shortest path per pair (network.cc:256).  A portfolio search
        routes pairs that send, and that are not linked, along shortest paths that share their load.
    restore_topology : bool
        A rejected proposal leaves the topology as it was; otherwise it may drift (network.cc:2289).
    shard_parameters : bool
        A channel-split Linear shards its weights, reads its full input and reduces only over the parts that
        hold the same shard; otherwise weights are replicated over all parts (model.cc:798-868).
    limit_memory : bool
        A strategy whose operators do not fit a GPU's memory is refused when a limit is given.
    shape_costs : bool
        An operator takes the times measured for its own shape where the table has them; otherwise those of the first
        operator of its measurement name (model.cc:2250).
    pack_cycles : bool
        All-reduces on links that are given, random ones or a full mesh, and in networks that a portfolio search makes,
        are divided over as many rings as share no link; otherwise each is one ring in the order of its servers along
        routes (simulator.cc:1241).
    spread_transfers : bool
        What a task sends to several servers leaves in an order that spreads all senders over the receivers at any
        time (`flexnet.plan.transfer_order`); otherwise in that of the parts that wait for it.
    share_transfers : bool
        What operators on the same servers read alike of a tensor is sent to them once, and the sum of their gradients
        returns; otherwise it is sent to each of them (simulator.cc:801).
    transfers_in_turn : bool
        Of two transfers between the same servers, one that is for an operator which needs that of the other waits for
        it (`flexnet.plan.turns`); otherwise they share links.
    relay_transfers : bool
        What several servers get of one is handed on by those that have it, and partial sums are added on their way,
        along trees in the network (`flexnet.network.relays`), what an operator reads over one link one after the other;
        otherwise each transfer goes by itself, whatever it passes (simulator.cc:801).
    """

    name: str
    inherit_element_size: bool
    fair_links: bool
    intra_server_factor_exact: bool
    random_ring_direction: bool
    split_degree: bool
    proportional_rings: bool
    volume_factor_exact: bool
    coin_change_routes: bool
    restore_topology: bool
    shard_parameters: bool
    limit_memory: bool
    shape_costs: bool
    pack_cycles: bool
    spread_transfers: bool
    share_transfers: bool
    transfers_in_turn: bool
    relay_transfers: bool


ORIGINAL = Semantics(
    name="original",
    inherit_element_size=True,
    fair_links=False,
    intra_server_factor_exact=False,
    random_ring_direction=True,
    split_degree=False,
    proportional_rings=False,
    volume_factor_exact=False,
    coin_change_routes=False,
    restore_topology=False,
    shard_parameters=False,
    limit_memory=False,
    shape_costs=False,
    pack_cycles=False,
    spread_transfers=False,
    share_transfers=False,
    transfers_in_turn=False,
    relay_transfers=False,
)
"""What the released FlexNet does."""

CORRECTED = Semantics(
    name="corrected",
    inherit_element_size=False,
    fair_links=True,
    intra_server_factor_exact=True,
    random_ring_direction=False,
    split_degree=True,
    proportional_rings=True,
    volume_factor_exact=True,
    coin_change_routes=True,
    restore_topology=True,
    shard_parameters=True,
    limit_memory=True,
    shape_costs=True,
    pack_cycles=True,
    spread_transfers=True,
    share_transfers=True,
    transfers_in_turn=True,
    relay_transfers=True,
)
"""What the TopoOpt paper means; the default."""

PRESETS = {"original": ORIGINAL, "corrected": CORRECTED}
