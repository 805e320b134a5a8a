"""What a proposal costs on 16 to 4,096 servers, and how that grows: benchmarks/scaling.png.

    python benchmarks/scaling.py [--seconds 20] [--most 4096]

A convolutional network whose samples a server stay as many, cut along the batch, by the default search.  CPU time of
a proposal, median; the mean, which is printed beside it, has networks that are built too.  The exponent is that of a
straight line through the medians, both axes logarithmic, from 64 servers on.  Needs the extra ``report``.
"""

import argparse
import statistics
import time
from pathlib import Path

import numpy as np

from flexnet.cost.roofline import roofline_table
from flexnet.model.zoo import MODELS
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import CORRECTED
from flexnet.search.prepare import prepare
from flexnet.search.settings import Settings
from flexnet.units import gbps_to_bytes_per_s, s_to_ms, us_to_s

FIGURE = Path(__file__).parent / "scaling.png"
SAMPLES = 64  # of a server
FITTED = 64  # servers, from which the exponent is taken: below, what every proposal costs hides how it grows
LEAST = 5  # proposals


def proposal_ms(model: str, topology: str, n_server: int, seconds: float) -> tuple[float, float]:
    """CPU time of a proposal, after one that is not counted: median and mean."""
    graph = MODELS[model].build({}, batch_size=SAMPLES * n_server)
    cluster = Cluster(
        n_server, 4, gbps_to_bytes_per_s(200), link_bandwidth=gbps_to_bytes_per_s(100), latency=us_to_s(1), degree=4
    )
    table = roofline_table(graph, "a100", n_server=n_server, big_gpu=4)
    ready = prepare(make_problem(graph, table, cluster, CORRECTED), Settings(topology, 0, strided=True, start="data"))
    state, taken = ready.state, []
    while sum(taken) < seconds or len(taken) <= LEAST:
        began = time.process_time()
        state, info = ready.search.step(ready.rng, state)
        if info.tried != "start":
            taken.append(time.process_time() - began)
    return s_to_ms(statistics.median(taken[1:])), s_to_ms(statistics.mean(taken[1:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--most", type=int, default=4096, help="servers")
    parser.add_argument("--model", default="resnet")
    args = parser.parse_args()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"font.size": 9, "axes.grid": True, "grid.alpha": 0.3}):
        figure = Figure(figsize=(5, 3.4), layout="constrained")
        axes = figure.subplots()
        for topology, marker in (("fattree", "o"), ("topoopt", "s")):
            found, sizes = [], [16 << 2 * k for k in range(5) if 16 << 2 * k <= args.most]
            for n_server in sizes:
                median, mean = proposal_ms(args.model, topology, n_server, args.seconds)
                found.append(median)
                print(f"{topology:8} {n_server:5} servers  {median:9.3f} ms, mean {mean:9.3f} ms", flush=True)
            large = [at for at, n_server in enumerate(sizes) if n_server >= FITTED]
            exponent = np.polyfit(np.log([sizes[at] for at in large]), np.log([found[at] for at in large]), 1)[0]
            print(f"{topology:8} exponent {exponent:.2f}", flush=True)
            axes.loglog(sizes, found, marker=marker, label=f"{topology}, exponent {exponent:.2f}")
            if topology == "fattree":
                lines = [found[0] * n * np.log(n) / (16 * np.log(16)) for n in sizes]
                axes.loglog(sizes, lines, ":k", label="N log N")
                axes.set(xticks=sizes, xticklabels=sizes)
        axes.set(xlabel="servers", ylabel="CPU ms of a proposal")
        axes.legend(frameon=False)
        figure.savefig(FIGURE, dpi=100)
    print(f"wrote {FIGURE}")


if __name__ == "__main__":
    main()
