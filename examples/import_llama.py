"""A Llama of Hugging Face with its loss, from its configuration alone, on 32 servers: no GPU, no weights in memory."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from flexnet import CORRECTED, Cluster, Settings, find_plan, from_torch, make_problem, roofline_table

config = LlamaConfig(
    vocab_size=32000,
    hidden_size=2048,
    intermediate_size=5632,
    num_hidden_layers=3,
    num_attention_heads=16,
    num_key_value_heads=4,
    use_cache=False,
)
with torch.device("meta"):
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    tokens = torch.zeros(64, 512, dtype=torch.long)

graph = from_torch(model, {"input_ids": tokens, "labels": tokens}, name="llama")
print(f"{graph.n_parameter:,} parameters, as PyTorch counts: {sum(p.numel() for p in model.parameters()):,}")
for block in graph.blocks:
    names = [op.name for op in graph.operators[block.first : block.first + block.length]]
    print(f"{block.count} blocks of {block.length} operators, {names[0]} to {names[-1]}")

table = roofline_table(graph, "a100", n_server=32, every=True)
problem = make_problem(graph, table, Cluster(32, degree=4), CORRECTED)
found = find_plan(problem, Settings("topoopt", budget=1500, seed=0))
print(f"data parallel {found.start_seconds * 1e3:.2f} ms, best {found.seconds * 1e3:.2f} ms")
