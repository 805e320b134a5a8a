import pytest

from flexnet.builder import GraphBuilder
from flexnet.errors import FlexNetError
from flexnet.graph import ModelGraph, OpType
from flexnet.memory import required_bytes
from flexnet.models import MODELS
from flexnet.parts import Cuts, part_of, plan_shapes
from flexnet.published import published_measurements


def one(build, batch=64):
    b = GraphBuilder("m", batch)
    build(b)
    return b.build().operators[-1]


def test_every_shape_comes_once_in_order():
    graph = MODELS["resnet"].build({}, 64)
    shapes = plan_shapes(graph, Cuts(4))
    looks = {
        (op.key, tuple(s.tensor for s in op.inputs), op.outputs, tuple(op.attrs.items())) for op in graph.operators
    }
    assert len({shape.name for shape in shapes}) == len(shapes) == len(looks) > len(graph.keys())
    assert [shape.op.key for shape in shapes if shape.key_degrees is not None] == list(graph.keys())
    assert all(shape.degrees == ((1, 1, 1, 1), (1, 1, 1, 2), (1, 1, 1, 4)) for shape in shapes if shape.op.rank == 4)


@pytest.mark.parametrize("name", ["dlrm16", "candle16", "transformer16", "dlrm128"])
def test_models_of_few_shapes(name):
    """The original loses nothing on these: every measurement name has one shape, but for activations."""
    graph = published_measurements()[name].build()
    shapes = plan_shapes(graph, Cuts(16, 4))
    assert {shape.op.key for shape in shapes} == set(graph.keys())
    assert len(shapes) <= len(graph.keys()) + 3


def test_the_original_names_stand_for_configs_every_operator_has():
    b = GraphBuilder("m", 8)
    b.softmax(b.input(4))
    b._add(OpType.SOFTMAX, "Softmax", "Softmax", [other := GraphBuilder("m", 6).input(4)], [other.tensor])
    shapes = plan_shapes(b.build(), Cuts(2))
    assert [shape.degrees for shape in shapes] == [((1, 1), (1, 2)), ((1, 1), (1, 2))]
    with pytest.raises(FlexNetError, match=r"over 4 servers .* its batch \(6\) must be a multiple"):
        plan_shapes(b.build(), Cuts(4))


def refusal(op, cuts):
    with pytest.raises(FlexNetError) as caught:
        plan_shapes(ModelGraph("m", 64, (op,)), cuts)
    return str(caught.value)


def test_why_a_model_cannot_be_cut_is_told_apart():
    dense = one(lambda b: b.dense(b.input(8), 4))
    assert refusal(dense, Cuts(3, 2)).endswith(
        "over 3 servers of 2 GPUs: its batch (64) must be a multiple of 6; choose another --batch-size or fewer servers"
    )
    larger = "; a smaller --batch-size, more servers or a larger --big-gpu helps"
    conv = one(lambda b: b.conv2d(b.input(1, 1, 2**23), 2, (1, 1)))
    assert refusal(conv, Cuts(1)) == (
        "operator Conv2D_100 (Conv2D_1_1_2) cannot be cut over 1 server of 1 GPU: a tensor of a part has 4294967296 "
        "bytes, more than the 2147483647 that the libraries can handle" + larger
    )
    assert plan_shapes(ModelGraph("m", 64, (conv,)), Cuts(4))  # as the sentence promises
    assert refusal(dense, Cuts(2, max_local=16)).endswith(
        "a part has 32 samples, more than the 16 that one GPU may have" + larger
    )


def test_batch_parts_are_shared_by_the_gpus_of_a_server():
    op = one(lambda b: b.dense(b.input(5, 8), 4))
    part = part_of(op, (1, 1, 4), 2)
    assert part.inputs[0].tensor.dims == (8, 5, 8)
    assert part.outputs[0].dims == (4, 5, 8)
    assert part.weights == op.weights
    assert required_bytes(part, 1) == required_bytes(op, 8)


def test_gpus_that_do_not_divide_a_part_stay_out():
    assert part_of(one(lambda b: b.dense(b.input(8), 4), 6), (1, 3), 4).outputs[0].dims == (4, 1)


def test_channel_parts_read_everything_and_hold_their_share():
    part = part_of(one(lambda b: b.dense(b.input(8), 6)), (3, 2), 0)
    assert part.inputs[0].tensor.dims == (8, 32)
    assert [tensor.dims for tensor in (*part.outputs, *part.weights)] == [(2, 32), (8, 2), (2,)]


def test_embeddings_stay_whole():
    op = one(lambda b: b.embedding(b.input(10, dtype="int64"), 100, 8))
    assert part_of(op, (1, 1), 4) is op


def test_spatial_parts_read_what_their_windows_reach():
    op = one(lambda b: b.conv2d(b.input(3, 16, 12), 4, (5, 3), stride=(2, 1), padding=(2, 1)))
    assert op.outputs[0].dims == (12, 8, 4, 64)
    part = part_of(op, (3, 2, 1, 4), 0)
    assert part.outputs[0].dims == (4, 4, 4, 16)
    assert part.inputs[0].tensor.dims == (6, 11, 3, 16)
    assert (part.attrs["padding_h"], part.attrs["padding_w"]) == (0, 0)
    down = part_of(op, (1, 2, 1, 4), 0)
    assert down.inputs[0].tensor.dims == (12, 11, 3, 16)
    assert (down.attrs["padding_h"], down.attrs["padding_w"]) == (0, 1)


def test_spatial_parts_of_element_wise_operators():
    op = one(lambda b: b.binary(OpType.ADD, b.input(3, 8, 4), b.input(3, 8, 4)))
    part = part_of(op, (2, 4, 1, 1), 0)
    assert [source.tensor.dims for source in part.inputs] == [(2, 2, 3, 64)] * 2
    assert part.outputs[0].dims == (2, 2, 3, 64)
