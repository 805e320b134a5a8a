"""Every kind of operator runs, has the shapes the builder says, and gradients for everything that has one."""

import pytest

from flexnet.cost.configs import every_degrees
from flexnet.cost.parts import part_of
from flexnet.cost.shape_names import shape_name
from flexnet.model.graph import OpType, Source, Tensor
from flexnet.model.zoo import MODELS

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from small_operators import built, small_operators  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from flexnet.profiler.operators import make_work  # noqa: E402


def run(op, dtype=torch.float32, **more):
    work = make_work(op, device="cpu", dtype=dtype, **more)
    work.forward()
    if work.start_backward():
        work.backward()
    return work


aten = torch.ops.aten
VIEWS = {getattr(aten, name).default for name in ("view", "detach", "t", "alias", "expand", "permute", "unsqueeze")} | {
    aten.narrow.default,
    aten.slice.Tensor,
    aten.transpose.int,
    aten.split_with_sizes.default,
    aten._unsafe_view.default,
}


def shapes(tensors):
    return [tuple(reversed(tensor.shape)) for tensor in tensors]


@pytest.mark.parametrize("op", list(small_operators()), ids=lambda op: f"{op.kind.name}-{shape_name(op)}")
def test_shapes_and_gradients(op):
    work = run(op)
    assert shapes(work.outputs) == [tensor.dims for tensor in op.outputs]
    assert shapes(work.inputs) == [source.tensor.dims for source in op.inputs]
    leaves = [x for x in (*work.inputs, *work.weights) if x.requires_grad]
    gradients = torch.autograd.grad(work.outputs, leaves, [torch.ones_like(y) for y in work.outputs])
    assert [tuple(g.shape) for g in gradients] == [tuple(x.shape) for x in leaves]
    if op.kind != OpType.MULTI_HEAD_ATTENTION:  # one packed weight, of which PyTorch wants four
        assert shapes(work.weights)[: len(op.weights)] == [tensor.dims for tensor in op.weights]
    else:
        assert sum(w.numel() for w in work.weights) == op.weights[0].volume


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["dlrm", "transformer", "moe"])
def test_half_precision(name, dtype):
    flags = {"--num-layers": 1, "--hidden-size": 16, "--num-heads": 2, "--sequence-length": 4}
    graph = MODELS[name].build(flags if name == "transformer" else {}, 80)
    for op in {shape_name(op): op for op in graph.operators}.values():
        outputs = run(op, dtype).outputs
        assert all(y.dtype in (dtype, torch.int32) for y in outputs)


@pytest.mark.parametrize("op", list(small_operators()), ids=lambda op: f"{op.kind.name}-{shape_name(op)}")
def test_no_backward_pass_is_empty(op):
    """Sums, joins and reshapes hand gradients on; PyTorch then does nothing, where the original copies."""

    class Writes(TorchDispatchMode):
        n_byte = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            found = func(*args, **(kwargs or {}))
            made = [x for x in pytree.tree_leaves(found) if isinstance(x, torch.Tensor) and not x.is_sparse]
            if func not in VIEWS:
                self.n_byte += sum(x.numel() * x.element_size() for x in made)
            return found

    work = run(op)
    assert work.start_backward()
    with Writes() as writes:
        work.backward()
    if op.kind != OpType.EMBEDDING:  # its gradient is sparse
        assert writes.n_byte >= sum(
            x.numel() * x.element_size() for x in (*work.inputs, *work.weights) if x.requires_grad
        )


def test_the_kinds_are_all_covered():
    covered = {op.kind for op in small_operators()} | {op.kind for op in MODELS["moe"].build({}, 20).operators}
    of_pase = {OpType.LSTM, OpType.STACK, OpType.UNSTACK}  # have a cost model, no timing
    assert set(OpType) - covered == of_pase


def test_every_operator_of_the_experts_model():
    graph = MODELS["moe"].build({}, 20)
    for op in graph.operators:
        work = run(op)
        assert shapes(work.outputs) == [tensor.dims for tensor in op.outputs]
        assert work.start_backward() == (op.kind != OpType.CACHE)


def test_samples_go_to_their_experts_and_come_back():
    """Group_by then Aggregate with gates of one: k times each sample, less what an expert has no room for."""
    graph = MODELS["moe"].build({}, 20)
    group_by = next(op for op in graph.operators if op.kind == OpType.GROUP_BY)
    grouped = make_work(group_by, device="cpu", dtype=torch.float32)
    grouped.forward()
    x, assignment = grouped.inputs
    buffers = grouped.outputs
    expected = [[] for _ in buffers]
    for i, chosen in enumerate(assignment.tolist()):
        assert len(set(chosen)) == len(chosen)
        for expert in chosen:
            expected[expert].append(i)
    total = torch.zeros_like(x)
    for rows, samples in zip(buffers, expected, strict=True):
        kept = samples[: len(rows)]
        assert torch.equal(rows[: len(kept)], x[kept])
        for i in kept:
            total[i] += x[i]
    aggregate = built(
        lambda b: b.aggregate(b.input(2), b.input(2, dtype="int32"), [Source(None, 0, Tensor((784, 16)))] * 5), 20
    )
    work = make_work(aggregate, device="cpu", dtype=torch.float32)
    (together,) = work.compute([torch.ones(20, 2), assignment, *buffers], ())
    assert torch.allclose(together, total)


def test_an_embedding_of_a_smaller_table_says_so():
    op = built(lambda b: b.embedding(b.input(3, dtype="int64"), 5000, 6))
    work = run(op, table_rows=64)
    assert work.note == "table of 64 rows in place of 5000"
    assert work.weights[0].shape == (64, 6)
    assert int(work.inputs[0].max()) < 64
    assert run(op, table_rows=5000).note == ""


@pytest.mark.parametrize(
    ("build", "degrees"),
    [
        (lambda b: b.dense(b.input(6), 8), (4, 2)),
        (lambda b: b.conv2d(b.input(3, 8, 8), 4, (3, 3), padding=(1, 1)), (2, 4, 1, 2)),
        (lambda b: b.pool2d(b.input(3, 8, 8), (3, 3), padding=(1, 1)), (1, 2, 1, 1)),
        (lambda b: b.binary(OpType.ADD, b.input(3, 8, 8), b.input(3, 8, 8)), (2, 2, 1, 1)),
    ],
)
def test_parts_run_as_they_are_cut(build, degrees):
    part = part_of(built(build), degrees, 2)
    assert shapes(run(part).outputs) == [tensor.dims for tensor in part.outputs]


@pytest.mark.parametrize("op", list(small_operators()), ids=lambda op: f"{op.kind.name}-{shape_name(op)}")
def test_every_part_of_every_cut_runs(op):
    for degrees in every_degrees(op, n_server=4, big_gpu=0):
        part = part_of(op, degrees, 0)
        work = run(part)
        assert shapes(work.outputs) == [tensor.dims for tensor in part.outputs]
        if op.kind != OpType.BATCH_NORM:  # a sample of which has none
            assert sum(w.numel() for w in work.weights) == sum(tensor.volume for tensor in part.weights)


@pytest.mark.parametrize(("shared", "more"), [(2, {}), (1, {}), (2, {"buckets": 4})])
def test_of_causal_attention_the_last_positions_are_measured(shared, more):
    """They see most, and take longest."""

    def attend(b):
        query, key, value = b.input(8, 8), b.input(8, 4 * shared), b.input(8, 4 * shared)
        return b.add(OpType.SCALED_DOT_PRODUCT, query, key, value, heads=2, shared=shared, causal=True, **more)

    op = built(attend)
    whole, part = run(op), run(part_of(op, (1, 4, 1), 0))
    query, key, value = (x.detach() for x in whole.inputs)
    weights = [w.detach() for w in whole.weights]
    (last,) = part.compute([query[:, 6:], key, value], weights)
    if not weights:  # those are looked up by how far apart positions are, which a part does not know
        assert torch.allclose(last, whole.outputs[0][:, 6:], atol=1e-6)
    key[:, 7] += 9.0
    (changed,) = part.compute([query[:, 6:], key, value], weights)
    assert torch.allclose(changed[:, 0], last[:, 0], atol=1e-6)
    assert not torch.allclose(changed[:, 1], last[:, 1], atol=1e-3)
