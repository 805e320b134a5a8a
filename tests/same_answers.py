"""Does flexnet still answer as before?  Records what some hundred command lines print and write, and compares records.

For changes that are to change nothing: ``python tests/same_answers.py record DIR`` with flexnet as it was, then as it
is (``--python`` names the interpreter that has it installed), then ``python tests/same_answers.py compare OLD NEW``,
which exits with 1 if anything differs but dates, durations, versions, help texts and the wording of errors.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import orjson

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("FLEXNET_DATA", ROOT.parent / "shared" / "data"))

SMALL = "search dlrm --nsimnode 4 --batch-size 64 --budget 60 --seed 3"
BIG = "--big-gpu 4 --inter-gpu-bandwidth 200 --interface-bandwidth 100 --network-latency 1 --net-opt 1"
TABLES = "-".join(["10000000"] * 16)
DLRM16 = (
    f"dlrm --embedding-bag-size 100 --arch-sparse-feature-size 256 --arch-embedding-size {TABLES} "
    f"--arch-mlp-bot {'-'.join(['1024'] * 8)} --arch-mlp-top {'-'.join(['2048'] * 16)}-1 --batch-size 16384"
)
MFILE = "measurements/roofline-a100/dlrm16.json"


@dataclass(frozen=True)
class Line:
    """A command line: its words behind ``flexnet``, and whether it is a wrong one or asks for help."""

    words: str
    wrong: bool = False
    help: bool = False


def ok(*lines: str) -> list[Line]:
    """Command lines that answer."""
    return [Line(words) for words in lines]


def wrong(*lines: str) -> list[Line]:
    """Command lines that are refused."""
    return [Line(words, wrong=True) for words in lines]


SEARCHES = ok(
    *(
        f"{SMALL} --topology {topology} --semantics {semantics} -o out/{topology}-{semantics} "
        f"--export out/{topology}.txt"
        for topology in ("topoopt", "fattree", "random", "fc")
        for semantics in ("corrected", "original")
    ),
    f"search {DLRM16} --nsimnode 16 {BIG} --mfile {MFILE} --topology topoopt --budget 300 --enable-propagation "
    "-o out/dlrm16",
    "search --resume out/dlrm16 --budget 400",
    f"search {DLRM16} --nsimnode 16 {BIG} --mfile {MFILE} --topology fattree --budget 300 --start dp -o out/dp",
    f"search {DLRM16} --nsimnode 16 {BIG} --mfile {MFILE} --topology random --semantics original "
    "--segment-bytes 1048576 --budget 50 -o out/segments",
    f"search {DLRM16} --nsimnode 16 {BIG} --topology topoopt --degree 8 --gpu h100 --gpu-memory 80 --budget 20 "
    "-o out/h",
    f"{SMALL} --topology topoopt --network fair -o out/fair",
    f"{SMALL} --topology fc --import out/topoopt.txt --export out/again.json --taskgraph out/again.fbuf",
    f"{SMALL} --topology fattree --import out/fc-corrected/strategy.json -o out/imported",
    f"{SMALL} --topology topoopt --enable-parameter-parallel --alpha 0.1 -o out/channels",
    f"{SMALL} --topology topoopt --segment-bytes 4096 --data-size 5 --overwrite",
    f"{SMALL} --topology topoopt --semantics original --gpu-memory 40",
    "search candle_uno --dense-layers 256-256 --dense-feature-layers 128-128 --nsimnode 8 --batch-size 128 "
    "--topology topoopt --interface-bandwidth 25 --budget 200 -o out/candle",
    "search transformer --num-layers 2 --sequence-length 32 --hidden-size 64 --num-heads 4 --nsimnode 8 --big-gpu 2 "
    "--topology topoopt --budget 100 -o out/transformer",
    "search vgg --nsimnode 6 --batch-size 96 --topology random --budget 80 --start dp -o out/vgg",
    "search alexnet --nsimnode 12 --batch-size 96 --topology topoopt --degree 3 --budget 80 -o out/alexnet",
    "search resnet --nsimnode 8 --batch-size 64 --topology fc --budget 60 -o out/resnet",
    "search inception --nsimnode 8 --batch-size 64 --topology topoopt --budget 40 -o out/inception",
    "search ncf --ntables 4 --nsimnode 8 --batch-size 64 --topology topoopt --budget 60 -o out/ncf",
    "search moe --nsimnode 4 --batch-size 20 --topology fattree --budget 40 -o out/moe",
    "search dlrm --topology topoopt --nsimnode 1 --degree 1 --budget 3",
)
PROFILES = ok(
    "profile vgg --batch-size 512 --nsimnode 8 --device analytic --gpu h100 -o out/vgg8.json",
    "profile resnet --batch-size 64 --nsimnode 4 --big-gpu 2 --device analytic --enable-attribute-parallel "
    "--enable-parameter-parallel -o out/resnet4.json",
    "profile dlrm --batch-size 64 --nsimnode 4 --device analytic --dtype bf16 --max-localsz 32 -o out/dlrm4.json",
    f"{SMALL} --topology topoopt --mfile out/dlrm4.json -o out/measured",
)
REPLAYS = ok(
    *(
        f"simulate out/dlrm16/taskgraph.fbuf {flags}"
        for flags in (
            "",
            "--json",
            "--topology star --json",
            "--topology fattree --interface-bandwidth 400 --network-latency 0.5",
            "--topology leafspine --servers-per-leaf 4 --oversubscription 2 --draws 3",
            "--topology kary --ports 6 --seed 5 --json",
            "--topology fc",
            "--topology random --node-degree 3",
            "--topology topoopt --degree 8 --json",
            "--network fifo --segment-bytes 1048576",
            "--allreduce ps",
            "--rings index",
            "--protocol fluid --json",
        )
    ),
    "simulate out/segments/taskgraph.fbuf --json",
    "simulate out/resnet/taskgraph.fbuf",
    *(f"simulate {DATA}/plans/{name}.fbuf --json" for name in ("dlrm16.random", "vgg16.random")),
)
EXACT = ok(
    "dp alexnet -p 8 -o out/alexnet.json --dump-graph out/alexnet.dot",
    "dp rnnlm -p 4 --algo 1 -o out/rnnlm.json",
    "dp transformer -p 8 -b 64 --pase-compat --memory 2",
    "dp inception3 -p 4 -m 64 --flops 20 --bw 32 -o out/inception3.json",
    "dp resnet101 -p 4",
)
OTHERS = ok("models", "--version", f"validate --data {DATA}")
LEGACY = ok(
    "dlrmsim -ll:gpu 1 -ll:zsize 20000 -dm:memoize ---batch-size 64 --nsimnode 4 --topology topoopt --degree 4 "
    "--budget 20 --simulator-segment-size 1048576 --epochs 3",
    "vggsim --batch-size 64 --nsimnode 4 --topology fattree --semantics original --search-budget 10 --nsimgpu 4",
    "moesim -b 20 --nsimnode 4 --topology fattree --budget 5 --enable-propagation",
    "transformersim \u2013batch-size 16 --nsimnode 2 --topology random --node-degree 2 --budget 5 --seed 1 --seed 2",
    "candle_unosim --topology fc --batch-size 16 --nsimnode 2 --export out/legacy.txt --max-localsz 64",
)
WRONG = wrong(
    "",
    "serch dlrm",
    "search",
    "search dlmr --topology topoopt",
    "search dlrm",
    "search dlrm --topology fat-tree",
    "search dlrm --topology topoopt --nsimnode 16 --node-degre 4",
    "search dlrm --topology topoopt --nsimnode 16 --semantics original --node-degree 3",
    f"search vgg --topology topoopt --nsimnode 16 --mfile {MFILE}",
    "search dlrm --topology topoopt --nsimnode 0",
    "search dlrm --topology topoopt --nsimnode four",
    "search dlrm --topology topoopt --nsimnode",
    "search dlrm --topology topoopt --nsimnode 3",
    "search dlrm --topology topoopt --nsimnode 4 --nsimnode 8",
    "search dlrm --topology topoopt --interface-bandwidth -5",
    "search dlrm --topology topoopt --gpu a100 --mfile x.json",
    "search dlrm --topology topoopt --mfile missing.json",
    "search dlrm --topology topoopt --start dp --import s.json",
    "search vgg --topology topoopt --arch-mlp-bot 4-2",
    "search --resume out/nothing",
    "search --resume out/dlrm16 --seed 9",
    f"{SMALL} --topology fc -o out/dlrm16",
    "search dlrm --topology topoopt --network fair --semantics original",
    "search dlrm vgg --topology topoopt",
    "search dlrm --topology topoopt --epochs 3",
    "search dlrm --topology topoopt --segment-bytes 10 --semantics original",
    "profile dlrm --device gpu",
    "profile vgg --device analytic --nsimnode 7",
    "simulate",
    "simulate missing.fbuf",
    "simulate out/vgg8.json",
    "simulate out/dlrm16/taskgraph.fbuf --topology star --node-degree 4",
    "simulate out/dlrm16/taskgraph.fbuf --segment-bytes 4096",
    "dp",
    "dp alexnt",
    "dp alexnet -p 0",
    "dp alexnet -o out/same --dump-graph out/same",
    "validate",
    "validate --data out/nothing",
    "models extra",
    "dlrmsim -ll:gpu 2 --topology fc",
)
HELPS = [
    Line(words, help=True)
    for words in (
        "--help",
        *(f"{command} --help" for command in ("search", "search dlrm", "profile", "simulate", "dp", "validate")),
        "models --help",
        "dlrmsim --help",
    )
]
LINES = [*SEARCHES, *PROFILES, *REPLAYS, *EXACT, *OTHERS, *LEGACY, *WRONG, *HELPS]

NOT_THE_ANSWER = {"search_s", "proposals_per_s", "written", "versions", "profile_s", "date", "flexnet"}
VARYING = [
    (re.compile(r"\d+ h \d+ min|\d+ min \d+ s|\d+\.\d s\b|[\d.]+ proposals/s|unknown left"), "TIME"),
    (re.compile(r"time {7}\d+\.\d+ s"), "TIME"),
    (re.compile(r"flexnet \d[\w.]*"), "flexnet VERSION"),
]


def record(directory: Path, python: str) -> None:
    """Run all command lines in a fresh ``directory`` and keep what each printed beside what it wrote."""
    directory.mkdir(parents=True)
    work = directory / "work"
    (work / "out").mkdir(parents=True)
    shutil.copytree(ROOT / "measurements", work / "measurements")
    answers = []
    for line in LINES:
        done = subprocess.run(
            [python, "-P", "-m", "flexnet", *line.words.split()], cwd=work, capture_output=True, text=True, check=False
        )
        answers.append({"words": line.words, "status": done.returncode, "out": done.stdout, "err": done.stderr})
        print(f"{done.returncode} flexnet {line.words[:100]}", flush=True)
    (directory / "answers.json").write_bytes(orjson.dumps(answers, option=orjson.OPT_INDENT_2))


def same(text: str) -> str:
    """Output without what differs from run to run."""
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return text


def contents(path: Path, work: Path) -> object:
    """Contents of a file, of JSON without what differs from run to run."""
    data = path.read_bytes().replace(bytes(work.resolve()), b"WORK")
    if path.suffix != ".json":
        return data
    document = orjson.loads(data)
    if isinstance(document, dict):
        # The order of keys and the layout count too; what was taken out is the same on both sides.
        kept = {key: value for key, value in document.items() if key not in NOT_THE_ANSWER}
        return tuple(document), orjson.dumps(kept), data.count(b"\n")
    return data


def difference(line: Line, old: dict[str, object], new: dict[str, object]) -> str | None:
    """How an answer differs; None if it does not."""
    if old["status"] != new["status"]:
        return f"exit status {old['status']} became {new['status']}"
    out, err = str(new["out"]), str(new["err"])
    if line.help:
        return None if out.strip() and not err.strip() else "help is empty, or on standard error"
    if same(str(old["out"])) != same(out):
        return f"printed:\n{old['out']}\nnow:\n{out}"
    if line.wrong:
        errors = [text for text in err.splitlines() if not text.startswith("flexnet: warning: ")]
        one = len(errors) == 1 and errors[0].startswith("flexnet: error: ")
        return None if one else f"the error is not one sentence:\n{err}"
    if same(str(old["err"])) != same(err):
        return f"said on standard error:\n{old['err']}\nnow:\n{err}"
    return None


def compare(before: Path, after: Path) -> int:
    """Say what differs between two records; the exit status."""
    old, new = (orjson.loads((directory / "answers.json").read_bytes()) for directory in (before, after))
    assert [answer["words"] for answer in old] == [answer["words"] for answer in new], "not the same command lines"
    found = []
    reworded = 0
    for line, a, b in zip(LINES, old, new, strict=True):
        what = difference(line, a, b)
        if what is not None:
            found.append(f"flexnet {line.words}\n{what}")
        reworded += line.wrong and what is None and a["err"] != b["err"]
    trees = [{p.relative_to(d / "work") for p in (d / "work").rglob("*") if p.is_file()} for d in (before, after)]
    found += [f"{path} is written by one of them only" for path in sorted(trees[0] ^ trees[1])]
    shared = sorted(path for path in trees[0] & trees[1] if path.suffix != ".md")
    works = before / "work", after / "work"
    found += [f"{path} differs" for path in shared if len({contents(work / path, work) for work in works}) > 1]
    for text in found:
        print(text)
    written = sum(path.parts[0] == "out" for path in shared)
    print(
        f"{len(LINES)} command lines, {written} files written: {len(found)} differences; "
        f"{reworded} of {sum(line.wrong for line in LINES)} errors reworded"
    )
    return 1 if found else 0


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("record")
    one.add_argument("directory", type=Path)
    one.add_argument("--python", default=sys.executable)
    two = commands.add_parser("compare")
    two.add_argument("old", type=Path)
    two.add_argument("new", type=Path)
    given = parser.parse_args()
    if given.command == "record":
        record(given.directory, given.python)
        return 0
    return compare(given.old, given.new)


if __name__ == "__main__":
    sys.exit(main())
