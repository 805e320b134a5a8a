"""How finely links are shared while a search prices its plans."""

from typing import NamedTuple

import numpy as np

from flexnet.network.kernels.held_routes import link_loads
from flexnet.plan.arrays import TaskArrays
from flexnet.plan.task_kinds import BACKWARD, NOMINAL_COMM
from flexnet.simulate.arrays import NetworkArrays
from flexnet.simulate.bundled import BundledLinks
from flexnet.simulate.fair import FairLinks
from flexnet.simulate.priced_links import flow_hops
from flexnet.simulate.protocol import Protocol

__all__ = ["Resolution", "resolution_for"]

# Resolution of fair sharing, as shares of a typical iteration.  While searching, prices of plans with many transfers
# are mostly within 0.5 % of those of full resolution and take 3 (32 servers) to 30 times (128 servers) less; what is
# reported follows every packet.
ROUGH = 1e-2
SEARCH_WINDOW = 1 / 200
SEARCH_TOLERANCE = 0.02
SEARCH_HOPS = 100_000.0  # of flows; with more, rates are solved more seldom
BUNDLED_HOPS = 8_000.0  # with more, what a task sends is priced as one (`flexnet.simulate.bundled`)
TIMED_HOPS = 1_000_000.0  # the same where timers may go off, of which that knows nothing
BUNDLE_HOPS = 200_000.0  # then takes the place of `SEARCH_HOPS`, up to windows of a tenth of a typical iteration
COARSEST = 40.0


class Resolution(NamedTuple):
    """What links are shared by, and what the plan takes that it was chosen for, roughly, in seconds."""

    links: BundledLinks | FairLinks
    seconds: float


def resolution_for(tasks: TaskArrays, network: NetworkArrays, protocol: Protocol) -> Resolution:
    """The resolution for plans that take about as long as this one, and have as many transfers.

    Parameters
    ----------
    tasks : TaskArrays
    network : NetworkArrays
        With routes for all that the tasks send.
    protocol : Protocol
        That prices follow.
    """
    compute = np.bincount(tasks.place, weights=tasks.seconds * (tasks.kind <= BACKWARD))
    hops = flow_hops(tasks, network)
    bundled = hops > BUNDLED_HOPS and (hops > TIMED_HOPS or not _may_time_out(tasks, network, protocol))
    shared = BundledLinks if bundled else FairLinks
    coarser = min(max(hops / BUNDLE_HOPS, 1.0), COARSEST) if bundled else max(1.0, hops / SEARCH_HOPS)
    rough = shared(ROUGH * coarser * float(compute.max()), SEARCH_TOLERANCE, protocol)
    seconds = rough.seconds(tasks, network)
    return Resolution(shared(SEARCH_WINDOW * coarser * seconds, SEARCH_TOLERANCE, protocol), seconds)


def _may_time_out(tasks: TaskArrays, network: NetworkArrays, protocol: Protocol) -> bool:
    """Whether first windows over one link take longer than senders wait for news.

    Half of them: what is sent forward is sent back later.
    """
    sends = tasks.kind == NOMINAL_COMM
    window = np.minimum(tasks.bytes[sends], protocol.first_window * protocol.packet_bytes)
    of_pair = np.bincount(tasks.place[sends], window, minlength=network.n_server**2)
    queued = link_loads(network.route_ptr, network.route, of_pair, len(network.bandwidth)) / network.bandwidth
    return protocol.by_packet and bool(queued.max(initial=0.0) > 2.0 * protocol.least_patience)
