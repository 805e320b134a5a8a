"""Llama 3 8B on 32 servers of 8 H100s in bf16: its layers, what Adam leaves of the memory, and a plan."""

from flexnet import CORRECTED, MODELS, Cluster, Settings, find_plan, gbps_to_bytes_per_s, make_problem, roofline_table

SERVERS, GPUS, GPU_BYTES = 32, 8, 80e9

graph = MODELS["llama"].build({"--preset": "llama3-8b"}, batch_size=SERVERS * GPUS)
(layers,) = graph.blocks
print(f"{graph.n_parameter / 1e9:.2f} billion parameters in {graph.dtype}")
print(f"{len(graph.operators)} operators: {layers.count} layers of {layers.length}")
print("a layer: " + ", ".join(graph.operators[i].key for i in layers.repetitions[0]))

table = roofline_table(graph, "h100", n_server=SERVERS, big_gpu=GPUS)
cluster = Cluster(
    SERVERS,
    big_gpu=GPUS,
    inter_gpu_bandwidth=gbps_to_bytes_per_s(3600),
    link_bandwidth=gbps_to_bytes_per_s(400),
    degree=8,
)
print(f"times are estimated: {table.source}")
problem = make_problem(graph, table, cluster, CORRECTED, optimizer="adam")
found = find_plan(problem, Settings("topoopt", start="layers", budget=100, gpu_memory=GPU_BYTES))
tokens = graph.batch_size * graph.operators[0].outputs[0].dims[1]
rate = 6 * graph.n_parameter * tokens / found.seconds / (SERVERS * GPUS)
print(f"{found.start_name} start {found.start_seconds * 1e3:.1f} ms, best {found.seconds * 1e3:.1f} ms")
print(f"{found.plan.memory / GPUS / 1e9:.1f} GB of {GPU_BYTES / 1e9:.0f} GB a GPU")
print(f"{rate / 1e12:.0f} TFLOP/s a GPU, whose peak is 989")
