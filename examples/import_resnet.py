"""ResNet-50 of Hugging Face, from its configuration alone, on 32 servers."""

import torch
from transformers import ResNetConfig, ResNetForImageClassification

from flexnet import CORRECTED, Cluster, Settings, find_plan, from_torch, make_problem, roofline_table

with torch.device("meta"):
    model = ResNetForImageClassification(ResNetConfig(num_labels=1000))
graph = from_torch(model, {"pixel_values": torch.empty(512, 3, 224, 224)}, name="resnet50")
print(f"{graph.n_parameter:,} parameters in {len(graph.operators)} operators")
print("blocks:", ", ".join(f"{block.count} x {block.length}" for block in graph.blocks))

table = roofline_table(graph, "a100", n_server=32, every=True)
problem = make_problem(graph, table, Cluster(32, degree=4), CORRECTED)
found = find_plan(problem, Settings("topoopt", budget=300, seed=0))
print(f"data parallel {found.start_seconds * 1e3:.2f} ms, best {found.seconds * 1e3:.2f} ms")
