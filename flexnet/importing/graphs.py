"""Steps to a model graph, whatever read them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from flexnet.errors import FlexNetError
from flexnet.importing.emit import Emitter
from flexnet.importing.emit_light import emit
from flexnet.importing.fuse import Group, fused
from flexnet.importing.steps import Step, Work
from flexnet.importing.values import Base, Role, Value
from flexnet.model.graph import ModelGraph
from flexnet.model.graph_file import check_batch
from flexnet.model.repeats import find_repeats

__all__ = ["Imported", "emitted", "graph_of", "without_tail"]


_NARROW = ("bf16", "fp16", "fp8")


@dataclass(frozen=True, slots=True)
class Imported:
    """A model graph, and what was counted on the way.

    Parameters
    ----------
    graph : ModelGraph
    works : mapping
        By name of the product, operations of the forward pass, of the backward pass, and what PyTorch's counter has
        for that (`flexnet.importing.steps.Work`).
    n_parameter : int
        Elements of the parameters of the program, tied ones once, those included that no operator reads.
    """

    graph: ModelGraph
    works: Mapping[str, Work]
    n_parameter: int

    @property
    def flops(self) -> tuple[int, int]:
        """Operations of all products, forward and backward."""
        works = self.works.values()
        return sum(work.forward for work in works), sum(work.backward for work in works)


def emitted(groups: Sequence[Group], shapes: Mapping[str, tuple[int, ...]]) -> Emitter:
    """Operators of groups, given the shapes of parameters."""
    readers: Counter[Base] = Counter()
    for group in groups:
        readers.update(group.reads.keys())
    emitter = Emitter(shapes)
    for group in groups:
        emit(emitter, group, readers)
    return emitter


def without_tail(steps: Sequence[Step], results: Iterable[Value]) -> list[Value]:
    """Results, and for losses what they are sums of: what is computed of sums over the batch alone is left out."""
    results = list(results)
    scalars = {value.base for value in results if value.volume == 1 and not value.base.batched}
    read_by_others: set[Base] = {value.base for value in results if value.base not in scalars}
    ends: set[Base] = set(scalars)
    behind: dict[Base, Value] = {}
    for step in reversed(steps):
        outputs = set(step.outputs)
        in_tail = (
            step.is_light
            and bool(outputs & ends)
            and not outputs & read_by_others
            and not any(base.batched for base in step.outputs)
        )
        for value, _ in step.uses:
            if value.base.role is not Role.COMPUTED:
                continue
            if not in_tail:
                read_by_others.add(value.base)
            elif value.base.needs_grad:
                ends.add(value.base)
                behind.setdefault(value.base, value)
        if in_tail:
            for base in outputs:
                behind.pop(base, None)
            scalars -= outputs
    rest = [value for value in results if value.base not in ends or value.base in scalars]
    return [*rest, *behind.values()] or results


def graph_of(
    name: str,
    batch_size: int,
    steps: Sequence[Step],
    results: Iterable[Value],
    shapes: Mapping[str, tuple[int, ...]],
    folded: Sequence[Work],
    elements: Mapping[str, int],
) -> Imported:
    """Fuse steps, and make operators of them.

    Parameters
    ----------
    name : str
    batch_size : int
    steps : sequence of Step
    results : iterable of Value
    shapes : mapping
        Of parameters.
    folded : sequence of Work
        Of products that are in no step.
    elements : mapping
        How many elements of parameters are stored as each of ``"bf16"``, ``"fp16"``, ``"fp8"``, and others; the model
        is trained in what most are.

    Raises
    ------
    FlexNetError
        If nothing is computed from data.
    """
    groups = fused(steps, without_tail(steps, results))
    emitter = emitted(groups, shapes)
    if not emitter.operators:
        raise FlexNetError(f"model {name} computes nothing from its inputs; it needs at least one layer")
    works: dict[str, Work] = {}
    kept = {step for group in groups for step in group.steps}
    computed = ((step in kept, step.work) for step in steps if step.work is not None)
    for work in (*folded, *(one if read else Work(one.name, one.forward, 0, 0) for read, one in computed)):
        known = works.get(work.name, Work(work.name, 0, 0, 0))
        works[work.name] = Work(
            work.name, known.forward + work.forward, known.backward + work.backward, known.counted + work.counted
        )
    operators = tuple(emitter.operators)
    check_batch(f"model {name}", operators, batch_size)
    graph = ModelGraph(name, batch_size, operators, None, find_repeats(operators))
    n_parameter = sum(elements.values())
    most = max(elements, key=lambda one: elements[one], default="")
    idle = n_parameter - graph.n_parameter
    return Imported(
        replace(graph, idle=idle, dtype=most if most in _NARROW else None), MappingProxyType(works), n_parameter
    )
