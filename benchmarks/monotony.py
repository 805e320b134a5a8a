"""Whether more bandwidth or more interfaces ever give a worse plan: single searches over a grid of both.

    python benchmarks/monotony.py --data DIR [--model vgg16] [--topology topoopt] [--seconds 15] [--jobs 1]
                                  [--gbps 10,25,40,100,200,400] [--degrees 2,4,6,8]

DIR holds ``measurements/``.  Every point is searched by itself, with the settings of ``benchmarks/quality.py``; no plan
is carried from one to another, as ``flexnet sweep`` does.  A plan of less bandwidth or fewer interfaces can be had with
more, so a time that is longer than one with less of both is what the search has missed.
"""

import argparse
from pathlib import Path

from quality import problem_of, search


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="vgg16")
    parser.add_argument("--topology", default="topoopt")
    parser.add_argument("--gbps", default="10,25,40,100,200,400")
    parser.add_argument("--degrees", default="2,4,6,8")
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    speeds, degrees = ([int(word) for word in text.split(",")] for text in (args.gbps, args.degrees))
    print(f"{args.model} on {args.topology}, {args.seconds:g} s, ms by packets (start in brackets)")
    print("degree  " + "".join(f"{f'{gbps} Gbps':>18}" for gbps in speeds))
    times: dict[tuple[int, int], float] = {}
    for degree in degrees:
        print(f"{degree:6}  ", end="")
        for gbps in speeds:
            found = search(problem_of(args.data, args.model, gbps, degree), args.topology, 0, args.seconds, args.jobs)
            times[gbps, degree] = found.best
            print(f"{f'{found.best:.2f} ({found.start:.1f})':>18}", end="", flush=True)
        print()
    missed = [
        (times[more] / times[less] - 1.0, less, more)
        for less in times
        for more in times
        if less != more and less[0] <= more[0] and less[1] <= more[1] and times[more] > times[less]
    ]
    pairs = sum(less != more and less[0] <= more[0] and less[1] <= more[1] for less in times for more in times)
    print(f"{len(missed)} of {pairs} pairs are longer with more")
    for share, less, more in sorted(missed, reverse=True)[:10]:
        print(f"  {100 * share:5.2f} %: {more[0]} Gbps x {more[1]} against {less[0]} Gbps x {less[1]}")


if __name__ == "__main__":
    main()
