"""How finely links are shared while a search prices its plans."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from flexnet.network.kernels.held_routes import NO_BYTES, NO_PAIRS, link_loads
from flexnet.plan.arrays import TaskArrays
from flexnet.plan.task_kinds import BACKWARD, NOMINAL_COMM
from flexnet.simulate.arrays import NetworkArrays
from flexnet.simulate.bundled import BundledLinks
from flexnet.simulate.fair import FairLinks
from flexnet.simulate.priced_links import flow_hops
from flexnet.simulate.protocol import Protocol

__all__ = ["Rough", "resolution_for", "roughly"]

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
FINE = 8.0  # times the resolution, to compare with
AS_NEAR = 0.02  # prices ten times faster are taken where they are so much farther off at most
FINE_ENOUGH = 0.02  # of a price, that windows half as long may change
MOST_HALVINGS = 3


class Rough(NamedTuple):
    """A first look at a plan.

    Parameters
    ----------
    hops : float
        Links that its transfers take together.
    bundled : bool
        Whether what a task sends is priced as one.
    is_open : bool
        Whether that is to be told by prices (`_nearer`), as timers may go off.
    coarser : float
        How many times coarser than of a small plan its prices are.
    seconds : float
        What it takes, roughly.
    """

    hops: float
    bundled: bool
    is_open: bool
    coarser: float
    seconds: float


def roughly(tasks: TaskArrays, network: NetworkArrays, protocol: Protocol) -> Rough:
    """Look at a plan for the first time; arguments as of `resolution_for`."""
    hops = flow_hops(tasks, network)
    may_time_out = hops > BUNDLED_HOPS and _may_time_out(tasks, network, protocol)
    bundled = hops > BUNDLED_HOPS and (hops > TIMED_HOPS or not may_time_out)
    coarser = min(max(hops / BUNDLE_HOPS, 1.0), COARSEST) if bundled else max(1.0, hops / SEARCH_HOPS)
    compute = np.bincount(tasks.place, weights=tasks.seconds * (tasks.kind <= BACKWARD))
    shared = BundledLinks if bundled else FairLinks
    rough = shared(ROUGH * coarser * float(compute.max()), SEARCH_TOLERANCE, protocol)
    return Rough(hops, bundled, may_time_out and not bundled, coarser, rough.seconds(tasks, network))


def resolution_for(
    rough: Rough,
    tasks: TaskArrays,
    in_turn: Callable[[], TaskArrays],
    network: NetworkArrays,
    protocol: Protocol,
    seconds: float,
) -> BundledLinks | FairLinks:
    """How links are shared for plans that take about so many seconds, and have as many transfers as this one.

    Parameters
    ----------
    rough : Rough
        Of this plan.
    tasks : TaskArrays
        As they are priced, with transfers at once.
    in_turn : callable
        Tells the same with turns (`flexnet.plan.turns`), which the plan may be sent with.
    network : NetworkArrays
        With routes for all that the tasks send.
    protocol : Protocol
        That prices follow.
    seconds : float
        What plans take, roughly.
    """
    window = SEARCH_WINDOW * rough.coarser * seconds
    fair, bundled = FairLinks(window, SEARCH_TOLERANCE, protocol), BundledLinks(window, SEARCH_TOLERANCE, protocol)
    links: BundledLinks | FairLinks = bundled if rough.bundled else fair
    if rough.is_open:
        links = _nearer(fair, bundled, tasks, in_turn(), network)
    return _fine_enough(links, tasks, network) if rough.coarser == 1.0 else links


def _nearer(
    fair: FairLinks, bundled: BundledLinks, tasks: TaskArrays, in_turn: TaskArrays, network: NetworkArrays
) -> BundledLinks | FairLinks:
    """What comes nearer to fine prices of a plan, which may be sent at once or in turns; bundled ones are faster.

    In turns fewer wait in one queue, and timers that stop a plan otherwise may never go off.
    """
    fine = replace(fair, window=fair.window / FINE)
    seconds = min(fine.seconds(each, network) for each in (tasks, in_turn))
    errors = [abs(links.seconds(tasks, network) / seconds - 1.0) for links in (fair, bundled)]
    return fair if errors[0] + AS_NEAR < errors[1] else bundled


def _fine_enough(
    links: BundledLinks | FairLinks, tasks: TaskArrays, network: NetworkArrays
) -> BundledLinks | FairLinks:
    """The same with windows halved while that changes the price: where many short phases follow each other."""
    seconds = links.seconds(tasks, network)
    for _ in range(MOST_HALVINGS):
        finer = replace(links, window=links.window / 2.0)
        before, seconds = seconds, finer.seconds(tasks, network)
        if abs(before / seconds - 1.0) <= FINE_ENOUGH:
            break
        links = finer
    return links


def _may_time_out(tasks: TaskArrays, network: NetworkArrays, protocol: Protocol) -> bool:
    """Whether first windows over one link take longer than senders wait for news.

    Half of them: what is sent forward is sent back later.
    """
    sends = tasks.kind == NOMINAL_COMM
    window = np.minimum(tasks.bytes[sends], protocol.first_window * protocol.packet_bytes)
    of_pair = np.bincount(tasks.place[sends], window, minlength=network.n_server**2)
    n_link = len(network.bandwidth)
    queued = link_loads(network.route_ptr, network.route, of_pair, NO_PAIRS, NO_BYTES, n_link) / network.bandwidth
    return protocol.by_packet and bool(queued.max(initial=0.0) > 2.0 * protocol.least_patience)
