"""Flags that several commands have."""

from flexnet.commands.requests.flags import Flag, switch
from flexnet.commands.requests.limits import MAX_COUNT, MAX_GPUS
from flexnet.commands.requests.types import Name, Number, Whole
from flexnet.model.precision import PRECISIONS

__all__ = ["BATCH_SIZE", "BIG_GPU", "DEFAULT_BATCH", "OF_SWITCHES", "PARAMETER_PARALLEL", "dtype_flag"]

DEFAULT_BATCH = 64

BATCH_SIZE = Flag(
    ["batch_size", "--batch-size", "-b"],
    type=Whole(1, MAX_COUNT),
    default=DEFAULT_BATCH,
    metavar="N",
    help=f"samples of the global batch (default {DEFAULT_BATCH})",
)

BIG_GPU = Flag(
    ["big_gpu", "--big-gpu"],
    type=Whole(0, MAX_GPUS),
    default=0,
    metavar="G",
    help="GPUs of a server that act as one (default 0: one GPU a server)",
)

OF_SWITCHES = [
    Flag(
        ["servers_per_leaf", "--servers-per-leaf"],
        type=Whole(1, 1 << 16),
        default=16,
        metavar="N",
        help="servers of a leaf switch, for leafspine (default 16)",
    ),
    Flag(
        ["oversubscription", "--oversubscription"],
        type=Number(1e-3, 1e3),
        default=1.0,
        metavar="R",
        help="links down over links up of a leaf switch, for leafspine (default 1)",
    ),
    Flag(
        ["ports", "--ports"],
        type=Whole(2, 1024),
        metavar="K",
        help="ports of a switch, for kary (default: the fewest that have room)",
    ),
]

PARAMETER_PARALLEL = switch(
    "enable_parameter_parallel",
    "--enable-parameter-parallel",
    "Linear operators may be cut along their output channels",
)


def dtype_flag(help: str) -> Flag:
    """The arithmetic a model is trained in."""
    return Flag(["dtype", "--dtype"], type=Name(PRECISIONS), metavar="NAME", help=help)
