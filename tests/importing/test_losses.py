"""Losses are operators: they are cut as the samples are, and what is computed of their sums is left out."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

from flexnet import OpType, from_torch  # noqa: E402
from flexnet.model.operators import kind_of  # noqa: E402

BATCH, CLASSES = 64, 8


class Trained(nn.Module):
    def __init__(self, loss):
        super().__init__()
        self.first, self.last, self.loss = nn.Linear(16, 32), nn.Linear(32, CLASSES), loss

    def forward(self, x, y):
        return self.loss(self.last(torch.relu(self.first(x))), y)


def _graph(loss, labels):
    with torch.device("meta"):
        y = torch.zeros(BATCH, dtype=torch.long) if labels else torch.empty(BATCH, CLASSES)
        return from_torch(Trained(loss), [torch.empty(BATCH, 16), y])


def _with_balance(scores, y):
    share = F.one_hot(y, CLASSES).float().mean(0)
    return F.cross_entropy(scores, y) + 0.01 * CLASSES * (scores.softmax(-1).mean(0) * share).sum()


LOSSES = {
    "cross entropy": (F.cross_entropy, True, [(OpType.SOFTMAX_CROSS_ENTROPY, (BATCH, CLASSES))]),
    "shares": (F.cross_entropy, False, [(OpType.SOFTMAX_CROSS_ENTROPY, (BATCH, CLASSES))]),
    "log": (lambda p, y: F.nll_loss(p.log_softmax(-1), y), True, [(OpType.FUSION, (BATCH, 1))]),
    "squares": (F.mse_loss, False, [(OpType.FUSION, (BATCH, 1))]),
    "sum": (lambda p, y: F.mse_loss(p, y, reduction="sum"), False, [(OpType.FUSION, (BATCH, 1))]),
    "each": (lambda p, y: F.l1_loss(p, y, reduction="none").mean(), False, [(OpType.FUSION, (BATCH, 1))]),
    "own": (lambda p, y: ((p - y) ** 2 * (y > 0)).sum() / (y > 0).sum(), False, [(OpType.FUSION, (BATCH, 1))]),
    "by feature": (lambda p, y: (p - y).abs().mean(0).sum() * 3, False, [(OpType.FUSION, (BATCH, CLASSES))]),
    "balanced": (
        _with_balance,
        True,
        [(OpType.SOFTMAX_CROSS_ENTROPY, (BATCH, CLASSES)), (OpType.FUSION, (BATCH, CLASSES))],
    ),
    "returned too": (lambda p, y: (p, F.mse_loss(p, y)), False, [(OpType.FUSION, (BATCH, 1))]),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_cut_as_samples_are(name):
    loss, labels, wanted = LOSSES[name]
    graph = _graph(loss, labels)
    assert [(op.kind, op.outputs[0].shape) for op in graph.operators[2:]] == wanted
    for op in graph.operators:
        batch = len(op.outputs[0].dims) - 1
        assert kind_of(op).cut_sizes(op)[batch] == BATCH


def test_sums_over_samples_of_what_is_not_trained_stay():
    """What steers the samples, as a count of tokens does, is read by each part as a whole."""

    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(16, CLASSES)

        def forward(self, x):
            return self.layer(x) / (1 + (x > 0).sum(0).sum())

    with torch.device("meta"):
        graph = from_torch(Counting(), [torch.empty(BATCH, 16)])
    assert graph.operators[-1].equation == "..,ab->ab"


def test_labels_that_are_shifted_by_writing_to_places_are_cut_as_samples_are():
    """As decoders make their inputs of labels."""

    class Shifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.last = nn.Embedding(CLASSES, 16), nn.Linear(16, CLASSES)

        def forward(self, labels):
            tokens = labels.new_zeros(labels.shape)
            tokens[:, 1:] = labels[:, :-1].clone()
            tokens[:, 0] = 1
            tokens.masked_fill_(tokens == -100, 0)
            return F.cross_entropy(self.last(self.table(tokens)).flatten(0, 1), labels.flatten())

    with torch.device("meta"):
        graph = from_torch(Shifted(), [torch.zeros(BATCH, 6, dtype=torch.long)])
    assert graph.operators[-1].kind == OpType.SOFTMAX_CROSS_ENTROPY
    for op in graph.operators:
        assert kind_of(op).cut_sizes(op)[len(op.outputs[0].dims) - 1] == BATCH


@pytest.mark.parametrize(("dtype", "named"), [("bfloat16", "bf16"), ("float16", "fp16"), ("float32", None)])
def test_arithmetic_is_that_of_the_parameters(dtype, named):
    with torch.device("meta"):
        module = nn.Sequential(nn.Linear(16, 32), nn.Linear(32, 8)).to(getattr(torch, dtype))
        assert from_torch(module, [torch.empty(BATCH, 16, dtype=getattr(torch, dtype))]).dtype == named
