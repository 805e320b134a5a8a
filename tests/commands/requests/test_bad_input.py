"""What users get wrong: every kind ends with exit status 2 and one sentence, never with a traceback."""

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from command_lines import SEARCH, errors_of, run_json, search_words

from flexnet.__main__ import main

Document = dict[str, Any]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with good files to spoil: table.json, run/ of a search, s.txt."""
    directory = tmp_path_factory.mktemp("good")
    profile = ["profile", "dlrm", "--nsimnode", "4", "--device", "analytic"]
    assert main([*profile, "-o", str(directory / "table.json")]) == 0
    mfile = ["--mfile", str(directory / "table.json")]
    assert main(search_words(*mfile, "-o", str(directory / "run"))) == 0
    assert main(search_words(*mfile, "--method", "mcmc", "--export", str(directory / "s.txt"))) == 0
    return directory


@pytest.fixture
def place(tmp_path: Path, good: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of a test, with copies of the good files."""
    monkeypatch.chdir(tmp_path)
    for path in sorted(good.rglob("*")):
        copied = tmp_path / path.relative_to(good)
        if path.is_dir():
            copied.mkdir()
        else:
            copied.write_bytes(path.read_bytes())
    return tmp_path


def refused(arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(arguments) == 2
    printed = capsys.readouterr()
    (line,) = errors_of(printed.err)
    assert line.startswith("flexnet: error: ")
    assert expected in line
    assert "Traceback" not in printed.out + printed.err


def search(*flags: str) -> list[str]:
    return search_words(*flags)


TOPOLOGY_NAMES = "topoopt, fattree, random, fc, star, leafspine or kary"

COMMANDS = {
    "no command": ([], "no command given"),
    "unknown command": (["serch"], "did you mean search?"),
    "far-off command": (["zzz"], "flexnet --help lists the commands"),
    "version of something": (["--version", "search"], "unexpected argument 'search' after --version"),
    "no model": (["search"], "no model given"),
    "unknown model": (["search", "dlmr", "--topology", "fc"], "did you mean dlrm?"),
    "far-off model": (["search", "palm", "--topology", "fc"], "choose one of dlrm"),
    "two models": (["search", "dlrm", "vgg", "--topology", "fc"], "unexpected argument 'vgg'"),
    "model flag without a model": (["search", "--ntables", "3"], "--ntables is a flag of a model"),
    "unknown flag": (search("--node-degre", "4"), "unknown flag --node-degre; did you mean --node-degree?"),
    "unknown flag with a value": (search("--node-degre=4"), "unknown flag --node-degre; did you mean --node-degree?"),
    "abbreviated flag": (search("--interface", "4"), "unknown flag --interface"),
    "flag twice": (
        [*SEARCH, "--nsimnode", "8"],
        '--nsimnode is given twice, as "4" and as "8"; give it once',
    ),
    "flag twice by two names": (search("--budget", "5", "--search-budget=6"), '--search-budget is given twice, as "5"'),
    "model flag twice": (search("--arch-mlp-bot", "4-2", "--arch-mlp-bot", "4-4-2"), "--arch-mlp-bot is given twice"),
    "flag like another only in its dashes": (search("--bogus"), "unknown flag --bogus; --help lists the flags"),
    "unknown flag beside a model's": (
        search("--arch-mlp-bot", "4-2", "--node-degre", "4"),
        "unknown flag --node-degre; did you mean --node-degree?",
    ),
    "flag without effect beside a model's": (
        search("--arch-mlp-bot", "4-2", "--epochs", "3"),
        "--epochs has no effect",
    ),
    "flag without its value beside a model's": (search("--arch-mlp-bot", "4-2", "--mfile"), "--mfile needs a value"),
    "model flag without its value": (search("--arch-mlp-bot"), "--arch-mlp-bot needs a value"),
    "misspelt model flag": (search("--arch-mlp-bo", "4-2"), "unknown flag --arch-mlp-bo; did you mean --arch-mlp-bot?"),
    "model flag with one dash": (search("-arch-mlp-bot", "4-2"), "unknown flag -arch-mlp-bot; did you mean --arch-"),
    "misspelt flag of profile": (
        ["profile", "dlrm", "--arch-mlp-bot", "4-2", "--devic", "cpu"],
        "unknown flag --devic; did you mean --device?",
    ),
    "short flag without its value": (search("-o="), "-o needs a value"),
    "number with an underscore": (search("--seed", "1_0"), '--seed is "1_0"; it must be a whole number'),
    "number with a blank": (search("--seed", " 4"), '--seed is " 4"; it must be a whole number'),
    "bandwidth with an underscore": (search("--inter-gpu-bandwidth", "1_000"), "must be a number from 1e-6 to 1e6, in"),
    "bandwidth in another script": (search("--inter-gpu-bandwidth", "\u0661\u0660"), "must be a number from 1e-6 to"),
    "no number": (search("--inter-gpu-bandwidth", "nan"), "must be a number from 1e-6 to 1e6"),
    "half a flag": (search("--batch", "64"), "did you mean --batch-size?"),
    "far-off flag": (search("--zzz"), "--help lists the flags"),
    "flag of another model": (
        ["search", "vgg", "--topology", "fc", "--ntables", "3"],
        "flag of model ncf; vgg has --variant",
    ),
    "flag without effect": (search("--epochs", "3"), "--epochs has no effect"),
    "runtime flag": (search("-ll:gpu", "1"), "unknown flag -ll:gpu"),
    "flag without its value": (search("--mfile"), "--mfile needs a value"),
    "flag for a value": (search("--mfile", "--seed", "1"), "--mfile needs a value"),
    "value for a switch": (search("--enable-propagation=1"), "--enable-propagation takes no value"),
    "profile of no time": (
        ["profile", "dlrm", "--time-cap", "0"],
        "--time-cap",
    ),
    "profile of odd numbers": (["profile", "dlrm", "--dtype", "int8"], "it must be fp32, tf32, bf16, fp16 or fp8"),
    "unknown device": (["profile", "dlrm", "--device", "tpu"], "it must be cuda, cpu or analytic"),
    "search flag in profile": (
        ["profile", "dlrm", "--device", "analytic", "--topology", "fc"],
        "unknown flag --topology",
    ),
    "profile of uneven parts": (["profile", "dlrm", "--device", "analytic", "--nsimnode", "3"], "multiple of 3"),
    "profile limit": (["profile", "dlrm", "--device", "analytic", "--max-localsz", "0"], "--max-localsz"),
    "validate without data": (["validate"], "--data is missing"),
    "validate a missing directory": (["validate", "--data", "nothere"], "nothere is not a directory"),
    "validate an empty directory": (["validate", "--data", "."], "to recompute"),
    "validate with a word": (["validate", "data"], "unexpected argument 'data'"),
    "models with a word": (["models", "dlrm"], "flexnet models takes none"),
    "original program without topology": (["dlrmsim", "-ll:gpu", "1"], "--topology is missing; choose topoopt"),
    "original program on four GPUs": (["dlrmsim", "-ll:gpu", "4", "--topology", "fc"], "--big-gpu"),
    "original program with an unknown flag": (["dlrmsim", "--topology", "fc", "--nsimnodes", "4"], "--nsimnode?"),
    "original program that measures": (["dlrmsim", "--measure", "--dtype", "int8"], "it must be fp32, tf32"),
}

FLAGS = {
    "no topology": (
        ["search", "dlrm"],
        "--topology is missing; choose topoopt, fattree, random, fc, star, leafspine or kary, or name",
    ),
    "misspelt topology": (search("--topology", "fat-tree"), "leafspine or kary (did you mean fattree?)"),
    "misspelt GPU": (search("--gpu", "A-100"), "h200 or v100 (did you mean a100?)"),
    "misspelt semantics": (search("--semantics", "orignal"), "(did you mean original?)"),
    "unknown topology": (
        search("--topology", "tree"),
        f'is "tree"; it must be {TOPOLOGY_NAMES}',
    ),
    "bandwidth of letters": (
        search("--interface-bandwidth", "abc"),
        'is "abc"; it must be a number from 1e-6 to 1e6, in Gbps',
    ),
    "no bandwidth": (search("--interface-bandwidth", "0"), "from 1e-6 to 1e6, in Gbps"),
    "negative bandwidth": (search("--interface-bandwidth", "-5"), "from 1e-6 to 1e6, in Gbps"),
    "bandwidth with a unit": (search("--interface-bandwidth", "100Gbps"), "from 1e-6 to 1e6, in Gbps"),
    "infinite bandwidth": (search("--inter-gpu-bandwidth", "1e400"), "from 1e-6 to 1e6, in Gbps"),
    "bandwidth that is no number": (search("--inter-gpu-bandwidth", "nan"), "from 1e-6 to 1e6, in Gbps"),
    "negative latency": (search("--network-latency", "-1"), "a number from 0 to 1e6, in microseconds"),
    "no batch": (search("--batch-size", "0"), "a whole number from 1 to 2147483647"),
    "fractional batch": (search("-b", "6.4"), "--batch-size"),
    "batch in other digits": (search("-b", "\u0666\u0664"), "--batch-size"),
    "batch that does not divide": (search("-b", "62"), "--batch-size 62 does not divide evenly over 4 servers"),
    "batch that GPUs do not divide": (search("--big-gpu", "3"), "it must be a multiple of 12"),
    "batch beyond memory": (search("-b", "4294967296"), "--batch-size"),
    "vanishing bandwidth": (search("--interface-bandwidth", "1e-310"), "a number from 1e-6 to 1e6, in Gbps"),
    "endless latency": (search("--network-latency", "1e308"), "a number from 0 to 1e6, in microseconds"),
    "endless memory": (search("--gpu-memory", "1e300"), "a number from 1e-9 to 1e9, in GB"),
    "endless budget": (search("--budget", "9" * 18), "a whole number from 0 to 1000000000000"),
    "endless alpha": (search("--alpha", "1e300"), "a number from 0 to 1e12, in 1/ms"),
    "small segments": (search("--segment-bytes", "999"), "0 (whole transfers) or at least 1000"),
    "endless segments": (search("--segment-bytes", "9" * 18), "a whole number from 0 to 1099511627776"),
    "endless time cap": (["profile", "dlrm", "--time-cap", "1e300"], "a number from 1e-6 to 86400, in seconds"),
    "no servers": (search("--nsimnode", "0"), "--nsimnode"),
    "too many servers": (search("--nsimnode", "65536"), "from 1 to 4096"),
    "negative GPUs": (search("--big-gpu", "-1"), "--big-gpu"),
    "no degree": (search("--degree", "0"), "--node-degree"),
    "more interfaces than servers": (search("--degree", "5"), "--node-degree is 5 and --nsimnode is 4"),
    "odd degree of the original": (search("--degree", "3", "--semantics", "original"), "must be even"),
    "too few interfaces": (search("--degree", "1"), "degree 1 cannot connect 4 servers"),
    "too few on a random graph": (search("--degree", "1", "--topology", "random"), "degree 1 cannot connect 4 servers"),
    "placement": (search("--net-opt", "2"), "it must be 0 or 1"),
    "unknown GPU": (search("--gpu", "b1000"), "it must be a100, b200, h100, h200 or v100"),
    "GPU and measurement": (
        search("--gpu", "a100", "--mfile", "table.json", "--cuts", "measured"),
        "exclude each other",
    ),
    "cuts of the original": (search("--cuts", "all", "--semantics", "original"), "--cuts all needs --semantics corr"),
    "unknown cuts": (search("--cuts", "batch"), 'cuts is "batch"; it must be all or measured'),
    "unknown optimizer": (search("--optimizer", "lamb"), 'optimizer is "lamb"; it must be adam, adam-zero1 or sgd'),
    "no memory": (search("--gpu-memory", "0"), "a number from 1e-9 to 1e9, in GB"),
    "too little memory": (search("--gpu-memory", "1e-9"), "raise --gpu-memory"),
    "negative budget": (search("--budget", "-1"), "--search-budget"),
    "infinite temperature": (search("--alpha", "inf"), "--search-alpha"),
    "no jobs": (search("--jobs", "0"), '--jobs is "0"; it must be a whole number from 1'),
    "negative time": (search("--time", "-1"), '--time is "-1"; it must be a number from'),
    "no time": (search("--time", "0"), '--time is "0"; it must be a number from'),
    "chains of the original's": (search("--jobs", "2", "--method", "mcmc"), "--jobs 2 needs --method portfolio"),
    "chains of the original": (search("--jobs", "2", "--semantics", "original"), "--jobs 2 needs --method portfolio"),
    "portfolio of the original": (
        search("--method", "portfolio", "--semantics", "original"),
        "--method portfolio needs --semantics corrected",
    ),
    "unknown method": (search("--method", "greedy"), 'method is "greedy"; it must be portfolio or mcmc'),
    "negative seed": (search("--seed", "-1"), "--seed"),
    "endless seed": (search("--seed", "9" * 40), "--seed"),
    "negative segments": (search("--segment-bytes", "-1"), "--segment-bytes"),
    "unknown semantics": (search("--semantics", "fixed"), "it must be original or corrected"),
    "cut-off list": (search("--arch-mlp-bot", "4-"), "joined by dashes"),
    "empty layer": (search("--arch-mlp-bot", "4-0"), "sizes of at least 1"),
    "short list": (search("--arch-mlp-top", "4"), "--arch-mlp-top"),
    "endless list": (search("--arch-embedding-size", "1" * 5000), "joined by dashes"),
    "sizes beyond 64 bits": (search("--arch-embedding-size", "1" * 30), "operator Embedding_101 of model dlrm has"),
    "unknown interaction": (search("--arch-interaction-op", "dot"), "only 'cat' exists"),
    "layer that is not there": (search("--sigmoid-bot", "9"), "the last layer"),
    "heads that do not divide": (["search", "transformer", "--topology", "fc", "--num-heads", "7"], "must divide"),
    "endless model": (["search", "ncf", "--topology", "fc", "--ntables", "1000000000"], "from 1 to 10000"),
    "empty file name": (search("--mfile", ""), "the name of a file"),
    "null in a file name": (search("--mfile", "a\0b"), "the name of a file"),
    "no such measurement file": (search("--mfile", "none.json"), "--mfile none.json cannot be read"),
    "directory for a measurement file": (search("--mfile", "."), "not a regular file"),
    "endless measurement file": (search("--mfile", "/dev/zero"), "not a regular file"),
    "measurement of another batch": (search("--mfile", "table.json", "-b", "128"), "measured at batch size 64"),
    "measurement of other servers": (search("--mfile", "table.json", "--nsimnode", "8"), "measured for 4 servers"),
    "measurement of other flags": (search("--mfile", "table.json", "--arch-mlp-bot", "8-4"), "Dense_8_4"),
    "no such strategy": (search("--import", "none.json"), "--import none.json cannot be read"),
    "no strategy to begin with": (search("--warm-start", "none.json"), "--warm-start none.json cannot be read"),
    "warm start with another model": (
        ["search", "vgg", "--topology", "fc", "--nsimnode", "4", "--warm-start", "run/strategy.json"],
        "it is for another model",
    ),
    "strategy of another model": (
        ["search", "vgg", "--topology", "fc", "--nsimnode", "4", "--import", "run/strategy.json"],
        "it is for another model",
    ),
    "strategy of more servers": (
        ["search", "dlrm", "--topology", "fc", "--nsimnode", "2", "--import", "s.txt"],
        "s.txt",
    ),
    "measurement for a strategy": (search("--import", "table.json"), '"format": "flexnet-strategy"'),
    "task graph in no directory": (search("--taskgraph", "none/t.fbuf"), "there is no directory"),
    "task graph over a directory": (search("--taskgraph", "."), "it is a directory"),
    "export in no directory": (search("--export", "none/s.txt"), "there is no directory"),
    "output in a file": (search("-o", "table.json"), "cannot make directory table.json"),
    "output below a file": (search("-o", "table.json/run"), "cannot make directory table.json/run"),
    "output that cannot be": (search("-o", "/proc/flexnet"), "cannot make directory /proc/flexnet"),
    "output over an input": (
        search("--mfile", "table.json", "--export", "table.json"),
        "it is an input of this search",
    ),
    "two outputs in one": (search("--taskgraph", "one", "--export", "./one"), "two outputs"),
    "profile in no directory": (
        ["profile", "dlrm", "--device", "analytic", "-o", "none/m.json"],
        "there is no directory",
    ),
    "no run to resume": (["search", "--resume", "none"], "cannot read none/run.json"),
    "resume another model": (["search", "vgg", "--resume", "run"], "continues a run of model dlrm"),
    "resume with another seed": (["search", "--resume", "run", "--seed", "5"], '--seed is "5", but was not given'),
    "resume with other servers": (["search", "--resume", "run", "--nsimnode", "8"], '--nsimnode is "8", but was "4"'),
    "resume with other layers": (["search", "dlrm", "--resume", "run", "--arch-mlp-bot", "8-2"], "--arch-mlp-bot is"),
    "resume elsewhere": (["search", "--resume", "run", "-o", "other"], "a resumed run writes to 'run'"),
    "resume with another measurement": (["search", "--resume", "run", "--mfile", "s.txt"], "s.txt is not the file"),
}


@pytest.mark.parametrize("kind", COMMANDS)
def test_wrong_commands(kind: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del place
    refused(*COMMANDS[kind], capsys)


@pytest.mark.parametrize("kind", FLAGS)
def test_wrong_flags(kind: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del place
    refused(*FLAGS[kind], capsys)


def _first(document: Document, **changes: object) -> None:
    document["measurements"][0].update(changes)


def _without(document: Document, name: str) -> None:
    document["measurements"] = [record for record in document["measurements"] if record["name"] != name]


TABLES: dict[str, tuple[Callable[[Document], object], str]] = {
    "negative time": (lambda d: _first(d, fw_time=-1), "a time cannot be negative"),
    "time of letters": (lambda d: _first(d, bw_time="fast"), "bw_time is fast"),
    "no time": (lambda d: d["measurements"][0].pop("fw_time"), "lacks fw_time"),
    "endless time": (lambda d: _first(d, fw_time=1e300), "finite number"),
    "config of another rank": (lambda d: _first(d, pc_str="4-1-1-1-4"), "cuts 4 dimensions"),
    "malformed config": (lambda d: _first(d, pc_str="four"), "pc_str is four"),
    "negative memory": (lambda d: _first(d, mem_req=-1), "mem_req is -1"),
    "missing config": (lambda d: d["measurements"].pop(), "lacks config 2-1-4"),
    "missing operator": (lambda d: _without(d, "Concat_1"), "has no measurement Concat_1"),
    "no measurements": (lambda d: d.update(measurements=[]), "measurements is empty"),
    "no batch size": (lambda d: d.pop("batch_size"), "lacks batch_size"),
    "batch size of letters": (lambda d: d.update(batch_size="64"), "batch_size is 64"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_spoilt_measurements(kind: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoil, expected = TABLES[kind]
    document = orjson.loads((place / "table.json").read_bytes())
    spoil(document)
    (place / "bad.json").write_bytes(orjson.dumps(document))
    refused(search("--mfile", "bad.json"), expected, capsys)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", "not valid JSON"),
        (b"\xff\xfe\x00", "not valid JSON"),
        (b"[1]", "it holds a list"),
        (b'{"batch_size": 64, "ngpus": 4, "measurements": [{"name": "x", "fw_time": NaN}]}', "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
    ],
)
def test_measurements_that_are_none(
    text: bytes, expected: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "bad.json").write_bytes(text)
    refused(search("--mfile", "bad.json"), expected, capsys)


def test_pipes_would_never_end(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe")
    for flag in ("--mfile", "--import", "--warm-start"):
        refused(search(flag, "pipe"), f"{flag} pipe is not a regular file", capsys)
    refused(["simulate", "pipe"], "pipe is not a file", capsys)
    for name in ("checkpoint.json", "run.json"):
        (place / "run" / name).unlink()
        os.mkfifo(place / "run" / name)
        refused(["search", "--resume", "run"], "it is a pipe or a device; a regular file is needed", capsys)
    refused(search("-o", "run"), "run already holds run.json", capsys)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.95])
def test_truncated_files(share: float, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {
        "table.json": search("--mfile", "table.json"),
        "run/strategy.json": search("--import", "run/strategy.json"),
        "s.txt": search("--import", "s.txt"),
        "run/checkpoint.json": ["search", "--resume", "run"],
        "run/run.json": ["search", "--resume", "run"],
    }
    for name, arguments in files.items():
        whole = (place / name).read_bytes()
        (place / name).write_bytes(whole[: int(len(whole) * share)])
        refused(arguments, Path(name).name, capsys)
        (place / name).write_bytes(whole)


STRATEGIES: dict[str, tuple[Callable[[Document], object], str]] = {
    "server that is not there": (lambda d: d["operators"][0]["devices"].__setitem__(0, 9), "servers are 0 to 3"),
    "two parts on a server": (
        lambda d: d["operators"][0].update(degrees=[1, 4], devices=[1, 1, 2, 3]),
        "two parts on one server",
    ),
    "too few servers": (
        lambda d: d["operators"][0].update(degrees=[1, 4], devices=[0, 1, 2]),
        "4 parts but has 3 devices",
    ),
    "unmeasured config": (
        lambda d: d["operators"][0].update(degrees=[1, 3], devices=[0, 1, 2]),
        "no measurement of Dense_4_2 with config 2-1-3",
    ),
    "another rank": (
        lambda d: d["operators"][0].update(degrees=[1, 1, 1, 4], devices=[0, 1, 2, 3]),
        "cuts operator Dense_100 in 4 dimensions",
    ),
    "missing operator": (lambda d: d["operators"].pop(), "has no operator Dense_103"),
    "operator twice": (lambda d: d["operators"].append(copy.deepcopy(d["operators"][0])), "operator Dense_100 twice"),
    "another version": (lambda d: d.update(version=99), '"version": 1'),
    "no operators": (lambda d: d.pop("operators"), 'must hold a list "operators"'),
    "estimates of letters": (lambda d: d.update(estimated="no"), '"estimated" must be true or false'),
    "degrees of letters": (lambda d: d["operators"][0].update(degrees="x"), "degrees of operator Dense_100"),
}


@pytest.mark.parametrize("kind", STRATEGIES)
def test_spoilt_strategies(kind: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoil, expected = STRATEGIES[kind]
    document = orjson.loads((place / "run/strategy.json").read_bytes())
    spoil(document)
    (place / "bad.json").write_bytes(orjson.dumps(document))
    refused(search("--import", "bad.json"), expected, capsys)


RUNS: dict[str, tuple[Callable[[Document], object], str]] = {
    "another format": (lambda d: d.update(format="other"), '"format": "flexnet-run"'),
    "no arguments": (lambda d: d.pop("arguments"), '"arguments" must be a list of words'),
    "arguments without a model": (lambda d: d.update(arguments=["--topology", "fc"]), "must start with a model"),
    "wrong arguments": (lambda d: d["arguments"].append("--zzz"), "unknown flag --zzz"),
    "other servers than the checkpoint": (
        lambda d: d.update(arguments=["dlrm", "--topology", "fc", "--nsimnode", "2"], files={}),
        "is not of the run",
    ),
    "another hash": (lambda d: d["files"]["--mfile"].update(sha256="0"), "is not the file that run/run.json records"),
    "no time": (lambda d: d.update(search_s=None), "search_s"),
}


@pytest.mark.parametrize("kind", RUNS)
def test_spoilt_runs(kind: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoil, expected = RUNS[kind]
    document = run_json(place / "run")
    spoil(document)
    (place / "run/run.json").write_bytes(orjson.dumps(document))
    refused(["search", "--resume", "run"], expected, capsys)


CHECKPOINTS: dict[str, tuple[Callable[[Document], object], str]] = {
    "another version": (lambda d: d.update(version=99), "not one of this version"),
    "candidate that is not there": (lambda d: d["best"]["choice"].__setitem__(0, 99), "is not of the run"),
    "endless candidate": (lambda d: d["best"]["choice"].__setitem__(0, 2**63), "damaged"),
    "server that is not there": (lambda d: d["current"]["devices"][0].__setitem__(0, 99), "is not of the run"),
    "fewer operators": (lambda d: d["best"]["choice"].pop(), "is not of the run"),
    "iteration of letters": (lambda d: d.update(iteration="x"), "is not of the run"),
    "no generator": (lambda d: d.pop("rng"), "damaged"),
    "network that is not there": (lambda d: d.update(network=7), "damaged"),
    "another bandwidth": (lambda d: d["networks"][0].update(link_bandwidth=1e9), "is not of the run"),
    "endless bandwidth": (lambda d: d["networks"][0].update(link_bandwidth=1e308), "above 0 and below 1e+200"),
    "another latency": (lambda d: d["networks"][-1].update(latency=1.0), "is not of the run"),
    "pool of another model": (lambda d: d["schedule"]["pool"][0]["choice"].pop(), "is not of the run"),
    "start of another model": (lambda d: d["schedule"]["pending"][0]["choice"].__setitem__(0, 99), "is not of the run"),
    "start on no server": (lambda d: d["schedule"]["pending"][0]["devices"][0].__setitem__(0, 4), "is not of the run"),
    "no schedule": (lambda d: d.update(schedule=None), "is not of the run"),
    "other moves": (lambda d: d["schedule"]["credit"].pop(), "is not of the run"),
    "a chain too many": (lambda d: d["chains"].append({**d, "chains": []}), "is not of the run"),
    "directions of nothing": (lambda d: d["best"].update(directions=[1]), "is not of the run"),
}


@pytest.mark.parametrize("kind", CHECKPOINTS)
def test_spoilt_checkpoints(kind: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoil, expected = CHECKPOINTS[kind]
    document = orjson.loads((place / "run/checkpoint.json").read_bytes())
    spoil(document)
    (place / "run/checkpoint.json").write_bytes(orjson.dumps(document))
    refused(["search", "--resume", "run"], expected, capsys)


def test_changed_measurement(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    original = (place / "table.json").read_bytes()
    (place / "table.json").write_bytes(original + b"\n")
    refused(["search", "--resume", "run", "--mfile", "table.json"], "is not the file that", capsys)
    (place / "moved.json").write_bytes(original)
    assert main(["search", "--resume", "run", "--mfile", "moved.json"]) == 0


def test_errors_are_one_line_however_odd_the_input(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del place
    refused(search("--gpu", "two\nlines"), "two lines", capsys)
    refused(search("--taskgraph", "no\ndirectory/t"), "no directory/t", capsys)
    refused(search("--topology", "\udcff"), "--topology", capsys)
    refused(["search", "x" * 100_000], " ... ", capsys)
