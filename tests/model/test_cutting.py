from flexnet.model.builder import GraphBuilder
from flexnet.model.cutting import aligned_split, cut_tensor, divisors
from flexnet.model.graph import Tensor


def test_divisors() -> None:
    assert divisors(7, 100) == [1, 7]
    assert divisors(12, 5) == [1, 2, 3, 4]


def test_tensors_are_cut_as_the_output_or_along_the_batch() -> None:
    b = GraphBuilder("m", 8)
    b.flat(b.input(3, 4, 6))
    (op,) = b.build().operators
    image, row = op.inputs[0].tensor, op.outputs[0]
    assert aligned_split(op, image) == (-1, -1, -1, 1)
    assert aligned_split(op, row) == (0, 1)
    assert cut_tensor(image, (3, 4), aligned_split(op, image)) == Tensor((6, 4, 3, 2))
    assert cut_tensor(row, (3, 4), aligned_split(op, row)) == Tensor((24, 2))


def test_uneven_parts_are_rounded_down_and_keep_their_type() -> None:
    assert cut_tensor(Tensor((7, 5), "int64"), (2, 3), (0, 1)) == Tensor((3, 1), "int64")
