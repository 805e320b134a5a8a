"""What every kind of operator must hold, whatever it computes; and finding kinds."""

from dataclasses import replace
from math import prod

import pytest
from operator_samples import SAMPLES

from flexnet.cost.configs import measured_degrees
from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import OpType
from flexnet.model.operators import OPERATORS, find_kind, kind_of, type_name
from flexnet.model.operators.kind import Arithmetic, OperatorKind

CUTS = {"n_server": 4, "big_gpu": 0, "parameter_parallel": True, "attribute_parallel": True}


def test_every_number_of_the_original_has_a_kind_and_every_kind_a_sample() -> None:
    assert set(OPERATORS) == set(OpType) == set(SAMPLES)


@pytest.mark.parametrize("number", OPERATORS, ids=lambda number: OpType(number).name)
class TestEveryKind:
    def test_its_names(self, number: int) -> None:
        kind, op = OPERATORS[number], SAMPLES[number]
        assert (kind.number, op.kind) == (number, number)
        assert op.name == f"{kind.name}_{100 + op.index}"
        assert kind.label == kind.label.lower() and op.key
        assert kind_of(op) is find_kind(number) is find_kind(kind) is kind
        assert type_name(op) == OpType(number).name

    def test_its_work(self, number: int) -> None:
        kind, op = OPERATORS[number], SAMPLES[number]
        flops, moved, irregular, launches = (
            count(op) for count in (kind.flops, kind.moved_bytes, kind.irregular_bytes, kind.launches)
        )
        assert all(type(n) is int and n >= 0 for n in (*flops, *moved, *irregular, *launches))
        assert moved.forward > 0 < launches.forward
        assert all(some <= every for some, every in zip(irregular, moved, strict=True))
        assert (moved.backward == 0) == (launches.backward == 0) == (number == OpType.CACHE)
        assert flops.backward in (flops.forward, 2 * flops.forward)
        assert type(kind.memory_bytes(op)) is int and kind.memory_bytes(op) > 0
        assert isinstance(kind.arithmetic, Arithmetic)

    def test_what_it_says_of_an_operator(self, number: int) -> None:
        kind, op = OPERATORS[number], SAMPLES[number]
        assert op.attrs.items() <= kind.details(op).items()
        assert all(isinstance(value, int) for value in kind.details(op).values())
        tensors = [*op.outputs, *(source.tensor for source in op.inputs)]
        assert all(any(tensor is one for one in tensors) and most > 0 for tensor, most in kind.size_limits(op))
        assert kind.most_samples is None or kind.most_samples > 0

    def test_how_it_is_cut(self, number: int) -> None:
        kind, op = OPERATORS[number], SAMPLES[number]
        dims = range(-1, op.rank + 1)
        for i, source in enumerate(op.inputs):
            assert len(kind.input_split(op, i)) == len(source.tensor.dims)
            assert set(kind.input_split(op, i)) <= set(dims)
            assert len(kind.reach(op, i)) == len(source.tensor.dims)
        for i, weight in enumerate(op.weights):
            assert len(kind.weight_split(op, i)) == len(weight.dims)
            assert set(kind.weight_split(op, i)) <= set(dims)
        assert set(kind.cut_sizes(op)) == set(kind.axes(op)) <= set(dims) - {-1}
        assert all(size > 0 for size in kind.cut_sizes(op).values())
        found = measured_degrees(op, **CUTS)
        assert any(prod(degrees[:-1]) > 1 for degrees in found) == (kind.channel_parallel or self.spatial(number))
        assert max(map(prod, found)) == (1 if kind.whole else 4)

    def spatial(self, number: int) -> bool:
        return SAMPLES[number].rank == 4 and OPERATORS[number].spatial(SAMPLES[number])

    def test_its_parts(self, number: int) -> None:
        """Of the same kind, with their share of the output, and together with all of the work."""
        kind, op = OPERATORS[number], SAMPLES[number]
        assert kind.part(op, (1,) * op.rank) == op
        for degrees in measured_degrees(op, **CUTS):
            part = kind.part(op, degrees)
            same = ("index", "kind", "name", "key", "equation")
            assert [getattr(part, field) for field in same] == [getattr(op, field) for field in same]
            assert part.outputs[0].dims == tuple(n // d for n, d in zip(op.outputs[0].dims, degrees, strict=True))
            assert [tensor.dtype for tensor in part.outputs] == [tensor.dtype for tensor in op.outputs]
            assert len(part.inputs) == len(op.inputs) and len(part.weights) == len(op.weights)
            assert prod(degrees) * kind.flops(part).forward == kind.flops(op).forward
            assert prod(degrees) * kind.moved_bytes(part).forward >= kind.moved_bytes(op).forward
            assert kind.memory_bytes(part) <= kind.memory_bytes(op) <= prod(degrees) * kind.memory_bytes(part)


def test_a_kind_that_is_not_registered_is_told_where_it_belongs() -> None:
    remedy = r"OPERATORS\[2000\] = \.\.\. adds an OperatorKind$"
    stray = replace(SAMPLES[OpType.SOFTMAX], kind=2000)
    with pytest.raises(FlexNetError, match=r"^operator Softmax_100 \(Softmax\) is of kind 2000, which .*" + remedy):
        kind_of(stray)
    with pytest.raises(FlexNetError, match=r"^no kind is registered under 2000; .*" + remedy):
        find_kind(2000)
    b = GraphBuilder("m", 8)
    with pytest.raises(
        FlexNetError, match=r"^kind is 'relu'; it must be an OpType, another number in OPERATORS, or an Op"
    ):
        b.add("relu", b.input(4))  # type: ignore[arg-type]


def test_a_number_taken_by_another_kind_is_refused() -> None:
    class Other(OperatorKind):
        number, name = OpType.LINEAR, "Other"
        layer = OPERATORS[OpType.SOFTMAX].layer
        flops = OPERATORS[OpType.SOFTMAX].flops

    with pytest.raises(FlexNetError, match=r"^kind Other has number 5, under which it is not registered"):
        find_kind(Other())


def test_tensors_between_kinds_need_their_builder() -> None:
    b, other = GraphBuilder("m", 8), GraphBuilder("m", 8)
    foreign = other.softmax(other.input(4))
    with pytest.raises(FlexNetError, match=r"^dropout got a tensor of shape .* of another builder"):
        b.add(OpType.DROPOUT, foreign)
    with pytest.raises(FlexNetError, match=r"^dropout takes tensors that layers of its builder returned; got 3$"):
        b.add(OpType.DROPOUT, 3)  # type: ignore[arg-type]
