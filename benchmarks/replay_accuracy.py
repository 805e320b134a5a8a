"""How near replays come to the packet simulator: by family, by fact, and with each effect off.

    python benchmarks/replay_accuracy.py --data DIR [--servers 16]

DIR holds ``micro/`` and ``found_plans/``; plans of more servers are left out.  Errors are those of iteration times
in percent, absolute but for the bias; the tables are those of docs/replay.md.
"""

import argparse
import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from flexnet.published.experiments import Experiment, compared, found_plans, micro_experiments, replayed
from flexnet.simulate.fair import FairLinks
from flexnet.simulate.protocol import FLUID, PACKET, Protocol
from flexnet.simulate.replay_report import Replay

FACTS = {
    "alone": "a ring alone takes 2(k-1)(2L + P tp)",
    "small_many_same_link": "flows of up to 100 packets go first in, first out",
    "small_allreduce": "small all-reduces run one round",
    "ring_vs_transfer": "a ring beside transfers",
    "parking": "one flow over several congested links",
    "same_link": "flows over one link",
    "timeout_same_link": "timers that go off",
    "incast": "many to one",
    "two_rings": "rings take turns",
}

WITHOUT = {
    "nothing off": {},
    "first window of 100: 2": {"first_window": 2},
    "slow start: none": {"slow_start": 0},
    "marks: none": {"mark_packets": 10**9},
    "marks: above 500 packets": {"mark_packets": 500},
    "moving average of marks: the last window": {"gain": 1.0},
    "timers: never": {"first_patience": 1e3, "first_ring_patience": 1e3, "least_patience": 1e3},
    "short cut of small all-reduces: none": {"small_packet_bytes": 0.0},
}


def errors(experiments: Iterable[Experiment], replay: Callable[[Experiment], Replay]) -> np.ndarray:
    return 100.0 * np.array([compared(one, replay(one))[0] for one in experiments])


def ends(experiments: Iterable[Experiment], replay: Callable[[Experiment], Replay]) -> np.ndarray:
    return 100.0 * np.abs(np.concatenate([compared(one, replay(one))[1] for one in experiments]))


def row(name: str, values: np.ndarray) -> str:
    size = np.abs(values)
    return (
        f"| {name} | {len(values)} | {size.mean():.2f} | {np.median(size):.2f} | {np.percentile(size, 90):.2f} "
        f"| {size.max():.2f} | {values.mean():+.2f} |"
    )


def fair(protocol: Protocol) -> Callable[[Experiment], Replay]:
    links = FairLinks(protocol=protocol)
    return lambda one: replayed(one, protocol, links)


def by_family(groups: dict[str, list[Experiment]]) -> None:
    print("\n| family | n | mean | median | 90th | worst | bias |\n|---|--:|--:|--:|--:|--:|--:|")
    for name, replay in (("", replayed), ("; fair sharing", fair(PACKET)), ("; fluid", fair(FLUID))):
        for family, experiments in groups.items():
            print(row(f"{family}{name}", errors(experiments, replay)), flush=True)


def by_fact(experiments: list[Experiment], known: dict[str, dict[str, Any]]) -> None:
    print("\n| fact | n | every packet | fair sharing | fluid |\n|---|--:|--:|--:|--:|")
    for kind, fact in FACTS.items():
        some = [one for one in experiments if known[one.name]["kind"] == kind]
        if some:
            told = [f"{ends(some, replay).mean():.2f}" for replay in (replayed, fair(PACKET), fair(FLUID))]
            print(f"| {fact} | {len(some)} | {' | '.join(told)} |", flush=True)


def ablation(groups: dict[str, list[Experiment]]) -> None:
    print(f"\n| off | {' | '.join(groups)} |\n|---|{'--:|' * len(groups)}")
    for name, fields in WITHOUT.items():
        protocol = PACKET._replace(**fields)
        means = [np.abs(errors(some, lambda one, p=protocol: replayed(one, p))).mean() for some in groups.values()]
        print(f"| {name} | {' | '.join(f'{mean:.2f}' for mean in means)} |", flush=True)


def scenarios(data: Path) -> dict[str, dict[str, Any]]:
    """What is said of each experiment, by its name."""
    path = data / "micro" / "micro.json.gz"
    return {one["id"]: one for one in json.loads(gzip.decompress(path.read_bytes()))["scenarios"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--servers", type=int, default=16)
    parser.add_argument("--every", type=int, default=1, help="take every so many-th experiment for the ablation")
    parser.add_argument("--only", choices=("families", "facts", "ablation"))
    args = parser.parse_args()
    micro = list(micro_experiments(args.data))
    groups = {f"micro {family}": [one for one in micro if one.family == family] for family in "ABCDE"}
    groups["found plans"] = [one for one in found_plans(args.data) if one.file.n_server <= args.servers]
    if args.only in (None, "families"):
        by_family(groups)
    if args.only in (None, "facts"):
        by_fact(micro, scenarios(args.data))
    if args.only in (None, "ablation"):
        ablation({name: some[:: args.every] for name, some in groups.items()})


if __name__ == "__main__":
    main()
