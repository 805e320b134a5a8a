"""Masks of attention that hang on no input: an order is told as one, whatever the batch."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch import nn  # noqa: E402

from flexnet import from_torch  # noqa: E402
from flexnet.model.graph import OpType  # noqa: E402


class Attends(nn.Module):
    """Attention with a mask that is made as Hugging Face does: an order, and padding that is not there."""

    def __init__(self, order, how="name"):
        super().__init__()
        self.order, self.how = order, how
        self.inner = nn.Linear(16, 48)

    def forward(self, x):
        n, steps, _ = x.shape
        q, k, v = self.inner(x).view(n, steps, 3, 4, 4).permute(2, 0, 3, 1, 4)
        places = torch.arange(steps, device=x.device)
        mask = self.order(places[None, :], places[:, None])[None, None]
        mask = torch.ones(n, steps, dtype=torch.bool, device=x.device)[:, None, None, :] & mask
        attend = nn.functional.scaled_dot_product_attention
        y = attend(q, k, v, attn_mask=mask) if self.how == "name" else attend(q, k, v, mask, 0.0, False)
        return y.transpose(1, 2).flatten(2)


class Written(Attends):
    """A mask into which something is written, of which nothing is known then."""

    def forward(self, x):
        n, steps, _ = x.shape
        q, k, v = self.inner(x).view(n, steps, 3, 4, 4).permute(2, 0, 3, 1, 4)
        mask = torch.ones(steps, steps, dtype=torch.bool, device=x.device).tril()
        mask[0] = x[0, :, 0] > 0
        return nn.functional.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2)


def causal(module, batch=8, steps=6):
    graph = from_torch(module, [torch.empty(batch, steps, 16)])
    return [op.attrs["causal"] for op in graph.operators if op.kind == OpType.SCALED_DOT_PRODUCT]


@pytest.mark.parametrize("how", ["name", "place"])
@pytest.mark.parametrize("batch", [8, 4096])
def test_a_mask_of_an_order_makes_attention_causal(how, batch):
    steps = 6 if batch == 8 else 256  # 268 million elements, of which those of one sample are computed
    assert causal(Attends(lambda key, query: key <= query, how), batch, steps) == [1]


@pytest.mark.parametrize(
    "order",
    [
        lambda key, query: key < query + 2,
        lambda key, query: (key <= query) & (key > query - 3),
        lambda key, query: key >= query,
        lambda key, query: key == key,
    ],
)
def test_other_masks_do_not(order):
    assert causal(Attends(order)) == [0]


class Shown(Attends):
    """One boolean for all pairs."""

    def forward(self, x):
        q = self.inner(x)[..., :16].unflatten(-1, (4, 4)).transpose(1, 2)
        mask = torch.ones(1, 1, dtype=torch.bool, device=x.device)
        return nn.functional.scaled_dot_product_attention(q, q, q, mask).transpose(1, 2).flatten(2)


class Padded(Attends):
    """An order that is narrowed by data, in place."""

    def forward(self, x):
        q = self.inner(x)[..., :16].unflatten(-1, (4, 4)).transpose(1, 2)
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()
        mask &= x[0, :, 0] > 0
        return nn.functional.scaled_dot_product_attention(q, q, q, mask).transpose(1, 2).flatten(2)


class Counted(nn.Module):
    """Branches on what is left of a mask of which the first sample's is set to zero."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(16, 16)

    def forward(self, x):
        steps = x.shape[1]
        mask = torch.ones(x.shape[0], 1, 1, device=x.device) * torch.ones(steps, steps, device=x.device)
        mask[0] = 0
        y = self.inner(x)
        return y if mask.sum() == (x.shape[0] - 1) * steps * steps else self.inner(y)


@pytest.mark.parametrize("module", [Written, Padded, Shown])
def test_what_is_written_into_a_mask_or_hides_nothing_is_no_order(module):
    assert causal(module(None)) == [0]


def test_what_all_samples_have_is_still_every_samples_own():
    graph = from_torch(Counted(), [torch.empty(8, 6, 16)])
    assert len([op for op in graph.operators if op.kind == OpType.LINEAR]) == 1
