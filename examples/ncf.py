"""NCF on 8 servers: a measurement file written and read, and a limit on the memory of a GPU."""

import tempfile
from pathlib import Path

from flexnet import (
    CORRECTED,
    MODELS,
    Cluster,
    FlexNetError,
    Settings,
    find_plan,
    gbps_to_bytes_per_s,
    make_problem,
    read_measurement,
    roofline_table,
    us_to_s,
    write_measurement,
)

flags = {
    "--ntables": "4",
    "--unum_per_table": "1000000",
    "--inum_per_table": "1000000",
    "--factor_num": "64",
    "--edim_per_table": "128",
    "--arch-mlp-top": "1024-1024-1024",
}
graph = MODELS["ncf"].build(flags, batch_size=4096)
with tempfile.TemporaryDirectory() as directory:
    path = Path(directory, "ncf8.json")
    write_measurement(path, roofline_table(graph, "a100", n_server=8))
    table = read_measurement(path, batch_size=4096, n_server=8)
print(f"{len(graph.operators)} operators; {table.source} says it is estimated: {table.estimated}")

cluster = Cluster(8, link_bandwidth=gbps_to_bytes_per_s(25), latency=us_to_s(1), degree=4)
problem = make_problem(graph, table, cluster, CORRECTED)
for gigabytes in (40, 4, 1):
    settings = Settings("topoopt", budget=200, strided=True, propagation=True, gpu_memory=gigabytes * 1e9)
    try:
        found = find_plan(problem, settings)
    except FlexNetError as error:
        print(f"{gigabytes:2d} GB: {error}")
    else:
        print(f"{gigabytes:2d} GB: start {found.start_seconds * 1e3:.2f} ms, best {found.seconds * 1e3:.2f} ms")
