"""A module of one's own with a layer of experts, imported and searched on 32 servers."""

import torch
from torch import nn

from flexnet import CORRECTED, Cluster, Settings, find_plan, from_torch, make_problem, roofline_table


class Experts(nn.Module):
    """Every token through eight experts, weighted by a gate."""

    def __init__(self, width: int, inner: int, experts: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.up = nn.Parameter(torch.empty(experts, width, inner))
        self.down = nn.Parameter(torch.empty(experts, inner, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Tokens (batch, width) to as many."""
        rows = torch.einsum("bd,edf->bef", x, self.up).relu()
        return torch.einsum("bef,efd,be->bd", rows, self.down, self.gate(x).softmax(-1))


with torch.device("meta"):
    model = nn.Sequential(nn.Linear(256, 512), Experts(512, 2048, 8), nn.LayerNorm(512), nn.Linear(512, 10))
graph = from_torch(model, [torch.empty(4096, 256)], name="experts")
for op in graph.operators:
    print(f"{op.name:<22} {op.equation:<18} {op.outputs[0].shape}")

table = roofline_table(graph, "a100", n_server=32, every=True)
problem = make_problem(graph, table, Cluster(32, degree=4), CORRECTED)
found = find_plan(problem, Settings("topoopt", budget=1500, seed=0))
print(f"data parallel {found.start_seconds * 1e3:.2f} ms, best {found.seconds * 1e3:.2f} ms")
