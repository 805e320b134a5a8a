import pytest

from flexnet.cost.configs import every_degrees
from flexnet.cost.shape_names import shape_name
from flexnet.cost.shapes import Cuts, plan_shapes
from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph
from flexnet.model.zoo import MODELS
from flexnet.published.index import published_measurements


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
    graph = ModelGraph("m", 8, (one(lambda b: b.softmax(b.input(4)), 8), one(lambda b: b.softmax(b.input(4)), 6)))
    shapes = plan_shapes(graph, Cuts(2))
    assert [shape.degrees for shape in shapes] == [((1, 1), (1, 2)), ((1, 1), (1, 2))]
    with pytest.raises(FlexNetError, match=r"over 4 servers .* its batch \(6\) must be a multiple"):
        plan_shapes(graph, Cuts(4))


def refusal(op, cuts):
    with pytest.raises(FlexNetError) as caught:
        plan_shapes(ModelGraph("m", 64, (op,)), cuts)
    return str(caught.value)


def test_why_a_model_cannot_be_cut_is_told_apart():
    dense = one(lambda b: b.dense(b.input(8), 4))
    assert refusal(dense, Cuts(3, 2)).endswith(
        "over 3 servers of 2 GPUs: its batch (64) must be a multiple of 6, such as 66; choose another --batch-size or "
        "fewer servers"
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


def test_every_cut_is_measured_by_shape_alone():
    graph = MODELS["alexnet"].build({}, 64)
    plain, every = (plan_shapes(graph, Cuts(4, 2, every=every)) for every in (False, True))
    assert [(shape.name, shape.key_degrees) for shape in plain] == [(shape.name, shape.key_degrees) for shape in every]
    for few, all_ in zip(plain, every, strict=True):
        assert set(few.degrees) <= set(all_.degrees)
        assert set(every_degrees(few.op, n_server=4, big_gpu=2)) <= set(all_.degrees)
    assert sum(len(shape.degrees) for shape in every) > 3 * sum(len(shape.degrees) for shape in plain)


@pytest.mark.parametrize("model", sorted(MODELS))
def test_operators_of_one_shape_name_have_equal_weights(model):
    """T5's attention across has no bias, and that within its stacks has one."""
    weights: dict[str, set[tuple[tuple[int, ...], ...]]] = {}
    for op in MODELS[model].build({}, 80).operators:
        weights.setdefault(shape_name(op), set()).add(tuple(weight.dims for weight in op.weights))
    assert max(map(len, weights.values())) == 1
