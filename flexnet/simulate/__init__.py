"""Simulation: when does the last task of an iteration end, and where did the time go?

What comes in is a task graph (`flexnet.plan.task_graph`) and a network (`flexnet.network.network`); what goes out is a
`Timeline` of every task, or a `Replay` (`replay`, told by `replay_report`) with `phases` and link loads.  A link model
says how simultaneous flows share links (contract: `link_model`; every one of their `packets` if there are not too many,
else `fair`; `fifo` for the original's semantics: `priced_links`); `protocol` has the constants of what the transport
adds.  The loops are compiled, in `kernels`.  May
import `network` and what lies below it, and knows nothing of search or files.
"""

from typing import TYPE_CHECKING

from flexnet.registry import Registry

if TYPE_CHECKING:
    from flexnet.simulate.link_model import LinkModel

__all__ = ["LINK_MODELS"]

LINK_MODELS: "Registry[type[LinkModel]]" = Registry(
    "link model",
    {
        "packet": "flexnet.simulate.packets:FollowedPackets",
        "fair": "flexnet.simulate.fair:FairLinks",
        "fifo": "flexnet.simulate.fifo:FifoLinks",
    },
)
"""Link models by the name that ``flexnet simulate --network`` takes."""
