import pytest

from flexnet.builder import GraphBuilder
from flexnet.graph import OpType
from flexnet.models import MODELS
from flexnet.workload import flops, irregular_bytes, launches, moved_bytes


def one(build, batch=8):
    b = GraphBuilder("m", batch)
    build(b)
    return b.build().operators[-1]


def test_linear_counts_two_operations_a_multiply_add():
    op = one(lambda b: b.dense(b.input(5, 16), 4))  # 5 positions a sample
    assert flops(op, 2) == (2 * 4 * 5 * 16 * 4, 2 * 2 * 4 * 5 * 16 * 4)
    assert moved_bytes(op, 2).forward == 4 * (4 * 5 * 16 + 16 * 4 + 4 + 4 * 5 * 4)


def test_convolution_counts_its_window_and_group():
    op = one(lambda b: b.conv2d(b.input(4, 9, 7), 6, (3, 2), groups=2))
    assert flops(op, 1).forward == 2 * (8 * 6 * 7 * 6) * (3 * 2 * 2)
    assert flops(op, 1).backward == 2 * flops(op, 1).forward


def test_attention_counts_projections_and_pairs():
    def attention(b):
        x = b.input(10, 12)
        b.attention(x, x, x, 12, 3)

    op = one(attention)
    rows = 8 * 10
    assert flops(op, 1).forward == 2 * 4 * rows * 12 * 12 + 4 * 8 * 10 * 10 * 12
    per_element = 3 * rows * 12 + 4 * 12 * 12 + rows * 12 + 8 * rows * 12 + 4 * 8 * 10 * 10 * 3
    assert moved_bytes(op, 1) == (4 * per_element, 8 * per_element)


def test_embedding_reads_a_row_for_each_index():
    op = one(lambda b: b.embedding(b.input(10, dtype="int64"), 1000, 16))
    rows = 4 * 8 * 10 * 16
    assert irregular_bytes(op, 1) == (rows, 2 * rows)
    assert moved_bytes(op, 1) == (8 * 80 + rows + 4 * 8 * 16, 8 * 80 + 2 * rows + 4 * 8 * 16)


def test_addition_moves_three_tensors_and_back_six():
    def add(b):
        x = b.input(10)
        b.binary(OpType.ADD, x, x)

    assert moved_bytes(one(add), 1) == (3 * 4 * 80, 6 * 4 * 80)
    assert launches(one(add)) == (1, 2)


def test_concat_starts_a_kernel_for_each_input():
    op = one(lambda b: b.concat([b.input(2), b.input(3), b.input(4)], axis=1))
    assert launches(op) == (3, 3)
    assert flops(op, 1) == (0, 0)


def test_cache_has_no_gradient():
    op = one(lambda b: b.cache(b.input(4)))
    assert moved_bytes(op, 1).backward == launches(op).backward == 0


def test_parts_that_do_not_divide_count_the_largest():
    op = one(lambda b: b.softmax(b.input(10)))
    assert moved_bytes(op, 3) == (2 * 4 * 10 * 3, 2 * 4 * 10 * 3)


@pytest.mark.parametrize("name", MODELS)
def test_every_operator_of_every_model_is_counted(name):
    graph = MODELS[name].build({}, 320)
    for op in graph.operators:
        for parts in (1, 2):
            assert min(flops(op, parts)) >= 0
            assert moved_bytes(op, parts).forward > 0
            streamed = [a - b for a, b in zip(moved_bytes(op, parts), irregular_bytes(op, parts), strict=True)]
            assert min(streamed) >= 0
        assert flops(op, 2).forward * 2 == flops(op, 1).forward


def test_sequence_operators_count_their_products() -> None:
    b = GraphBuilder("net", batch_size=8)
    x = b.einsum("bsd,de->bse", b.input(4, 16), (16, 32))
    b.lstm(x, 24, 2)
    einsum, lstm = b.build().operators
    assert flops(einsum, 2) == (2 * 4 * 4 * 32 * 16, 4 * 4 * 4 * 32 * 16)
    assert flops(lstm, 1).forward == 2 * 8 * 4 * 4 * 24 * ((32 + 24) + (24 + 24))
