"""The five graphs of PaSE (Elango, IPDPS 2021), by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from flexnet.model.graph import ModelGraph
from flexnet.model.zoo.pase.cnn import build_alexnet, build_resnet101
from flexnet.model.zoo.pase.inception3 import build_inception3
from flexnet.model.zoo.pase.language import build_rnnlm, build_transformer
from flexnet.model.zoo.pase.scale import BASE, Scale

__all__ = ["BASE", "GRAPHS", "PaseGraph"]


@dataclass(frozen=True, slots=True)
class PaseGraph:
    """A graph of PaSE.

    Parameters
    ----------
    make : callable
        From global batch size and scale to the graph.
    cutoff : int
        Least size of a part along a dimension that is cut.
    """

    make: Callable[[int, Scale], ModelGraph]
    cutoff: int

    def build(self, batch_size: int, model: int = BASE) -> ModelGraph:
        """Build it, its widths scaled by ``model / 128``."""
        return self.make(batch_size, Scale(model))


GRAPHS: Mapping[str, PaseGraph] = MappingProxyType(
    {
        "alexnet": PaseGraph(build_alexnet, 4),
        "resnet101": PaseGraph(build_resnet101, 4),
        "inception3": PaseGraph(build_inception3, 4),
        "rnnlm": PaseGraph(build_rnnlm, 1),
        "transformer": PaseGraph(build_transformer, 1),
    }
)
