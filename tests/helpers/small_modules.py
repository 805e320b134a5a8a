"""Small PyTorch modules of random layers, to import and to cut."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from torch import nn

__all__ = ["BATCH", "STEPS", "WIDTH", "Stack", "layer_names", "module_of"]

BATCH, STEPS, WIDTH, HEADS = 4, 4, 8, 2


class Attention(nn.Module):
    def __init__(self, fused: bool) -> None:
        super().__init__()
        self.fused = fused
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = [one.unflatten(-1, (HEADS, -1)).transpose(1, 2) for one in self.qkv(x).chunk(3, -1)]
        if self.fused:
            y = nn.functional.scaled_dot_product_attention(*heads)
        else:
            query, key, value = heads
            y = (query @ key.transpose(-2, -1) / 2).softmax(-1) @ value
        return x + self.out(y.transpose(1, 2).flatten(2))


class Convolved(nn.Module):
    def __init__(self, groups: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(WIDTH, WIDTH, 3, padding=1, groups=groups)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x.transpose(1, 2)).transpose(1, 2)


class Image(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(WIDTH, 2 * WIDTH, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x.transpose(1, 2).unflatten(2, (2, 2)))
        return nn.functional.max_pool2d(y, 1).flatten(2).transpose(1, 2)[..., ::2]


class RootMeanSquare(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-3)


@dataclass(frozen=True)
class Shuffle:
    """A function as a layer."""

    function: Callable[[torch.Tensor], torch.Tensor]


def _halves(x: torch.Tensor) -> torch.Tensor:
    a, b = x.split(WIDTH // 2, -1)
    return torch.cat([-b, a * 2], -1)


LAYERS: dict[str, Callable[[], object]] = {
    "linear": lambda: nn.Linear(WIDTH, WIDTH),
    "feed": lambda: nn.Sequential(nn.Linear(WIDTH, 16), nn.GELU(), nn.Linear(16, WIDTH, bias=False)),
    "attention": lambda: Attention(True),
    "scores": lambda: Attention(False),
    "conv1d": lambda: Convolved(1),
    "depthwise": lambda: Convolved(WIDTH),
    "conv2d": Image,
    "layer_norm": lambda: nn.LayerNorm(WIDTH),
    "rms_norm": RootMeanSquare,
    "halves": lambda: Shuffle(_halves),
    "gate": lambda: Shuffle(lambda x: nn.functional.silu(x) * x.flip(1)),
    "merge": lambda: Shuffle(lambda x: torch.tanh(x.reshape(BATCH * STEPS, WIDTH)).reshape(BATCH, STEPS, WIDTH)),
    "uneven": lambda: Shuffle(lambda x: torch.sin(x.reshape(BATCH, WIDTH, STEPS)).transpose(1, 2)),
    "heads": lambda: Shuffle(lambda x: x.unflatten(-1, (HEADS, -1)).transpose(1, 2).sin().transpose(1, 2).flatten(2)),
    "mix": lambda: Shuffle(lambda x: x + x.mean(1, keepdim=True).expand_as(x).sigmoid()),
    "concat": lambda: Shuffle(lambda x: torch.cat([x[:, 2:], x[:, :2].relu()], 1)),
    "softmax": lambda: Shuffle(lambda x: x.softmax(1) * x.softmax(-1)),
    "residual": lambda: Shuffle(lambda x: x + x.cos()),
}

layer_names = st.lists(st.sampled_from(sorted(LAYERS)), min_size=1, max_size=3)


class Stack(nn.Module):
    """An embedding or not, then layers."""

    def __init__(self, names: list[str], embedded: bool) -> None:
        super().__init__()
        self.table = nn.Embedding(10, WIDTH) if embedded else None
        made = [LAYERS[name]() for name in names]
        self.modules_ = nn.ModuleList(one for one in made if isinstance(one, nn.Module))
        self.made = made

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.table(x) if self.table is not None else x
        for one in self.made:
            x = one(x) if isinstance(one, nn.Module) else one.function(x)
        return x


def module_of(names: list[str], embedded: bool) -> tuple[Stack, torch.Tensor]:
    """A module of layers by their names, in double precision, and its input."""
    torch.manual_seed(len(names))
    module = Stack(names, embedded).double()
    x = torch.randint(10, (BATCH, STEPS)) if embedded else torch.randn(BATCH, STEPS, WIDTH, dtype=torch.double)
    return module, x
