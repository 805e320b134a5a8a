"""The command line from end to end: what it prints, writes and returns."""

import hashlib
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import orjson
import pytest
from command_lines import SEARCH, environment, errors_of, flexnet, flexnet_interrupted, run_json, search_words

from flexnet.__main__ import main
from flexnet.commands.console.progress import Display
from flexnet.cost.measurement_file import read_measurement
from flexnet.interrupts import check, give_up
from flexnet.model.zoo import MODELS
from flexnet.plan.strategy_file import read_strategy
from flexnet.search.plan import Plan
from flexnet.taskgraph_file.read import read_taskgraph

pytestmark = pytest.mark.compiled  # whole searches: without JIT they take many minutes

TOY = "flexnet: warning: dlrm is a toy of 28 parameters until flags say more: flexnet search dlrm --help\n"
VERDICT = re.compile(
    r"best (\S+) ms( \(estimated\))?, (?:(\S+)x|not) faster than the (data-parallel|imported) start \((\S+) ms\)"
)


def search(*more: str) -> int:
    return main(search_words(*more))


def test_a_short_flag_takes_its_value_behind_an_equals_sign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["search", "dlrm", "--topology", "fc", "--nsimnode", "2", "-b=32", "--budget=0", "-o=out"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    assert capsys.readouterr().out.startswith("dlrm, batch 32, 2 servers")
    assert run_json(tmp_path / "out")["inputs"]["batch_size"] == 32  # type: ignore[index,call-overload]


@pytest.mark.parametrize("topology", ["topoopt", "fattree", "random", "fc"])
@pytest.mark.parametrize("semantics", ["corrected", "original"])
def test_search_writes_what_it_found(
    topology: str, semantics: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "run"
    flags = ("--topology", topology, "--semantics", semantics, "--search-budget", "60", "--seed", "3")
    assert search(*flags, "-o", str(out)) == 0
    printed = capsys.readouterr()
    assert errors_of(printed.err) == []
    match = VERDICT.fullmatch(printed.out.splitlines()[-1])
    assert match is not None
    document = run_json(out)
    assert document["topology"] == topology
    assert document["semantics"] == semantics
    assert document["status"] == "finished"
    assert document["iterations"] == 61
    assert document["seed"] == 3
    assert document["estimated"] is True
    assert document["best_ms"] == pytest.approx(float(match[1]), rel=0.01)
    assert document["initial_ms"] == pytest.approx(float(match[5]), rel=0.01)
    assert document["best_ms"] <= document["initial_ms"]
    for name in (
        "search_s",
        "proposals_per_s",
        "bytes_allreduce",
        "bytes_model_parallel",
        "links",
        "rings",
        "versions",
        "memory_gb",
    ):
        assert name in document
    found_after = re.search(r"proposals/s(?:; the best after (\d+))?$", printed.out, re.MULTILINE)
    assert found_after is not None
    assert document["improved_at"] == (int(found_after[1]) if found_after[1] else None)
    assert len(read_strategy(out / "strategy.json")) == 4
    assert read_taskgraph(out / "taskgraph.fbuf").n_server == 4


def test_memory_is_told_and_what_does_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = ("--arch-embedding-size", "50000000-4", "--arch-sparse-feature-size", "256", "--arch-mlp-bot", "4-256")
    words = (*tables, "--gpu", "v100", "--budget", "0")
    assert search(*words, "--gpu-memory", "none", "-o", str(tmp_path)) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("memory"))
    assert re.fullmatch(r"memory     10[0-9.]+ GB on .*, which has 32\.00 GB: --gpu-memory 32 refuses such plans", line)
    assert run_json(tmp_path)["memory_gb"] > 32
    for more in ((), ("--gpu-memory", "32")):
        assert search(*words, *more) == 2
        sentence = (
            "a server has 32 GB; its largest operator, Embedding_101 (Embed_50000000x256), needs 102.4 GB, 70.4 GB"
        )
        assert sentence in capsys.readouterr().err
    assert search(*words, "--semantics", "original") == 0
    assert search(*words, "--gpu-memory", "110") == 0
    adam = (*words, "--optimizer", "adam", "--gpu-memory")  # both moments: as much again as the table and its gradient
    assert (search(*adam, "200"), search(*adam, "210")) == (2, 0)
    capsys.readouterr()
    assert search("--budget", "0") == 0
    assert re.search(r"^memory     [0-9.]+ kB on the fullest server$", capsys.readouterr().out, re.MULTILINE)


def test_a_sharded_optimizer_needs_less_memory_and_no_other_time(tmp_path: Path) -> None:
    found = {}
    words = ("search", "alexnet", "--gpu", "a100", "--nsimnode", "2", "--big-gpu", "2", "--batch-size", "64")
    for optimizer in ("adam", "adam-zero1"):
        output = tmp_path / optimizer
        more = ("--topology", "fattree", "--optimizer", optimizer, "--budget", "0", "-o", str(output))
        assert main([*words, *more]) == 0
        found[optimizer] = run_json(output)
        assert found[optimizer]["inputs"]["optimizer"] == optimizer
    assert found["adam-zero1"]["memory_gb"] < found["adam"]["memory_gb"]
    assert found["adam-zero1"]["best_replay_ms"] == found["adam"]["best_replay_ms"]


def test_the_source_of_times_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert search() == 0
    estimated = capsys.readouterr().out
    assert "estimated, not measured (roofline a100)" in estimated
    assert "(estimated)" in estimated.splitlines()[-1]
    table = tmp_path / "table.json"
    document = {"batch_size": 64, "ngpus": 4, "measurements": _measurements(tmp_path)}
    table.write_bytes(orjson.dumps(document))
    capsys.readouterr()
    assert search("--mfile", str(table), "--cuts", "measured", "-o", str(tmp_path)) == 0
    measured = capsys.readouterr().out
    assert "estimated" not in measured
    assert "measured (table.json)" in measured
    assert run_json(tmp_path)["estimated"] is False
    assert orjson.loads((tmp_path / "strategy.json").read_bytes())["estimated"] is False
    assert run_json(tmp_path)["files"] == {
        "--mfile": {"path": str(table), "sha256": hashlib.sha256(table.read_bytes()).hexdigest()}
    }


def _measurements(directory: Path) -> list[object]:
    path = directory / "estimates.json"
    main(["profile", "dlrm", "--nsimnode", "4", "--device", "analytic", "-o", str(path)])
    found = orjson.loads(path.read_bytes())["measurements"]
    assert isinstance(found, list)
    return found


def test_same_seed_same_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert search("--budget", "80", "--enable-propagation", "-o", str(tmp_path / name)) == 0
    for file in ("strategy.json", "taskgraph.fbuf", "checkpoint.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    assert search("--budget", "80", "--enable-propagation", "--seed", "1", "-o", str(tmp_path / "c")) == 0
    assert (tmp_path / "a" / "checkpoint.json").read_bytes() != (tmp_path / "c" / "checkpoint.json").read_bytes()


def test_plain_lines_in_a_pipe(tmp_path: Path) -> None:
    done = flexnet(*SEARCH, "--budget", "99", cwd=tmp_path)
    assert done.returncode == 0
    assert "\r" not in done.stdout
    progress = [line for line in done.stdout.splitlines() if re.match(r"\d+ of 100: current .* left$", line)]
    assert len(progress) == 10
    assert VERDICT.fullmatch(done.stdout.splitlines()[-1])


def test_exported_strategies_are_starting_strategies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        search("--budget", "100", "--cuts", "measured", "--export", str(tmp_path / "s.txt"), "-o", str(tmp_path)) == 0
    )
    assert (tmp_path / "s.txt").read_text().startswith("4\n")
    found = run_json(tmp_path)
    for name in ("s.txt", "strategy.json"):
        assert read_strategy(tmp_path / name) == read_strategy(tmp_path / "strategy.json")
        assert (
            search("--topology", "fc", "--import", str(tmp_path / name), "-o", str(tmp_path / "again"), "--overwrite")
            == 0
        )
        assert "imported start" in capsys.readouterr().out.splitlines()[-1]
    assert found["best_ms"] < found["initial_ms"]  # so the two starts differ


def test_a_warm_start_is_one_of_the_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    eager = ("--topology", "fc", "--reductions", "eager")  # as the original's method has them
    assert search(*eager, "--budget", "300", "-o", str(tmp_path / "long")) == 0
    strategy = str(tmp_path / "long" / "strategy.json")
    for more in ((), ("--method", "mcmc")):
        few = (*eager, "--start", "data", "--budget", "1", "--warm-start", strategy, *more)
        out = tmp_path / f"few{len(more)}"
        assert search(*few, "-o", str(out)) == 0
        assert run_json(out)["best_ms"] <= run_json(tmp_path / "long")["best_ms"] * (1 + 1e-9)
        assert run_json(out)["files"]["--warm-start"]["path"] == strategy
    resume = ["search", "--resume", str(tmp_path / "few0"), "--budget"]
    assert main([*resume, "3"]) == 0
    capsys.readouterr()
    Path(strategy).write_bytes(Path(strategy).read_bytes() + b" ")
    assert main([*resume, "5"]) == 2
    assert "--warm-start" in capsys.readouterr().err


def test_a_start_that_leaves_servers_idle_is_warned_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    strategy = tmp_path / "s.txt"
    assert (
        search("--topology", "fc", "--nsimnode", "2", "--start", "data", "--budget", "0", "--export", str(strategy))
        == 0
    )
    assert "without any part" not in capsys.readouterr().out
    assert search("--topology", "fc", "--import", str(strategy), "--budget", "0", "-o", str(tmp_path)) == 0
    expected = f"flexnet: warning: strategy file {strategy} uses 2 of 4 servers; 2 stay idle in it"
    out, err = capsys.readouterr()
    assert [line for line in err.splitlines() if "idle" in line] == [expected]
    assert "           2 servers without any part: 2 3" in out.splitlines()


def test_big_gpu_and_every_flag(tmp_path: Path) -> None:
    flags = [
        "--big-gpu",
        "4",
        "--inter-gpu-bandwidth",
        "200",
        "--interface-bandwidth",
        "12.5",
        "--network-latency",
        "0.5",
    ]
    flags += ["--degree", "2", "--net-opt", "1", "--enable-propagation", "--enable-parameter-parallel", "--gpu", "H100"]
    flags += [
        "--gpu-memory",
        "80",
        "--alpha",
        "0.2",
        "--arch-mlp-bot",
        "8-8-2",
        "--taskgraph",
        str(tmp_path / "t.fbuf"),
    ]
    assert search(*flags, "--budget", "30", "-o", str(tmp_path / "run")) == 0
    inputs = run_json(tmp_path / "run")["inputs"]
    assert isinstance(inputs, dict)
    assert (inputs["interface_gbps"], inputs["latency_us"], inputs["degree"], inputs["gpu"]) == (12.5, 0.5, 2, "h100")
    assert inputs["settings"]["gpu_memory"] == 80e9
    assert (tmp_path / "t.fbuf").read_bytes() == (tmp_path / "run" / "taskgraph.fbuf").read_bytes()


def test_flags_without_effect_are_warned_about(capsys: pytest.CaptureFixture[str]) -> None:
    assert search("--segment-bytes", "1024", "--data-size", "5") == 0
    warnings = capsys.readouterr().err
    assert "--segment-bytes has no effect with corrected semantics" in warnings
    assert "--data-size has no effect" in warnings
    assert search("--gpu-memory", "40", "--semantics", "original") == 0
    assert "--gpu-memory has no effect with original semantics" in capsys.readouterr().err
    assert search("--method", "mcmc", "--reductions", "eager") == 0
    assert "--reductions has no effect with method mcmc" in capsys.readouterr().err


def test_buckets_are_for_all_reduces_that_run_all_their_rounds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert search("--bucket-mb", "4") == 2
    assert errors_of(capsys.readouterr().err) == [
        "flexnet: error: --bucket-mb needs --protocol dctcp, fluid or roce; flexnetpacket cuts small all-reduces "
        "short, which would be small no more"
    ]
    assert search("--bucket-mb", "4", "--semantics", "original") == 2
    assert errors_of(capsys.readouterr().err) == [
        "flexnet: error: --bucket-mb needs --semantics corrected; the original reduces weights one by one"
    ]
    for size, told in (("8", 8.0), ("0", 0.0)):
        assert search("--protocol", "roce", "--bucket-mb", size, "-o", str(tmp_path / size)) == 0
        assert run_json(tmp_path / size)["bucket_mb"] == told
    resumed = tmp_path / "8"
    assert main(["search", "--resume", str(resumed), "--budget", "12"]) == 0
    assert run_json(resumed)["bucket_mb"] == 8.0


def test_the_same_value_twice_is_no_contradiction(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SEARCH, "--nsimnode", "4", "--budget", "0", "--degree", "2", "--node-degree=2"]) == 0
    assert "degree 2" in capsys.readouterr().out


def test_a_run_is_replaced_only_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ("-o", str(tmp_path / "run"))
    assert search("--budget", "20", *out) == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    capsys.readouterr()
    assert search("--budget", "30", *out) == 2
    (error,) = errors_of(capsys.readouterr().err)
    assert f"{out[1]} already holds a finished run; name another directory, go on with it by --resume" in error
    assert error.endswith("or replace it with --overwrite")
    assert search("--budget", "20", "--seed", "1", *out) == 2
    assert "--resume" not in capsys.readouterr().err  # a run of another search
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before
    assert search("--budget", "20", *out) == 0  # the same again gives the same plan
    assert (tmp_path / "run" / "strategy.json").read_bytes() == before["strategy.json"]
    record = run_json(tmp_path / "run")
    record["versions"]["flexnet"] = "0.0.1"  # which may have found another plan
    (tmp_path / "run" / "run.json").write_bytes(orjson.dumps(record))
    assert search("--budget", "20", *out) == 2
    capsys.readouterr()
    assert main(["search", "--resume", out[1], "--overwrite"]) == 2
    assert "--resume and --overwrite exclude each other" in capsys.readouterr().err
    assert search("--budget", "20", "--seed", "1", "--overwrite", *out) == 0
    assert run_json(tmp_path / "run")["seed"] == 1
    assert main(["search", "--resume", out[1]]) == 0


@pytest.mark.parametrize("name", ["run.json", "strategy.json", "taskgraph.fbuf", "checkpoint.json"])
def test_files_of_no_run_are_not_replaced_either(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).write_bytes(b"mine")
    assert search("-o", str(tmp_path)) == 2
    assert f"already holds {name}; name another directory, or replace it with" in capsys.readouterr().err
    assert (tmp_path / name).read_bytes() == b"mine"


def test_a_replaced_run_leaves_no_plan_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        """As if the power failed."""

    def show(*_: object) -> None:
        raise Killed

    assert search("--budget", "20", "-o", str(tmp_path)) == 0
    monkeypatch.setattr(Display, "show", show)
    with pytest.raises(Killed):
        search("--budget", "30", "--overwrite", "-o", str(tmp_path))
    assert run_json(tmp_path)["status"] == "running"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint.json", "history.json", "run.json"]
    assert search("--budget", "30", "-o", str(tmp_path)) == 2


def test_what_is_not_asked_for_is_said_before_the_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SEARCH, "--method", "mcmc"]) == 0
    warnings = capsys.readouterr().err
    assert "--search-budget is not given, so one proposal is made" in warnings
    assert "the plan will be printed and not kept; -o DIR keeps it" in warnings
    for place in (("-o", "run"), ("--export", "s.txt"), ("--taskgraph", "t.fbuf")):
        assert search("--budget", "0", "--start", "data", place[0], str(tmp_path / place[1])) == 0
        assert capsys.readouterr().err == TOY
    assert main([*SEARCH, "--semantics", "original", "-o", str(tmp_path / "original")]) == 0
    assert "--search-budget is not given, so one proposal is made" in capsys.readouterr().err
    assert search("--semantics", "original", "--node-degree", "3") == 2
    assert capsys.readouterr().err.count("\n") == 1  # an error comes alone
    assert search("--budget", "0", "--overwrite") == 0
    assert "--overwrite has no effect without -o DIR" in capsys.readouterr().err


@pytest.mark.compiled
def test_a_portfolio_without_a_limit_ends_by_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flexnet.search.portfolio.FIRST_SLOT", 2)
    assert main([*SEARCH, "-o", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert printed.err == TOY
    assert "; until nothing is gained, seed 0\n" in printed.out
    assert re.search(r"^64: current \S+ ms, best \S+ ms, \d+ proposals/s$", printed.out, re.MULTILINE)
    assert run_json(tmp_path)["status"] == "finished"


def test_a_time_ends_a_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SEARCH, "--time", "1", "-o", str(tmp_path / "run")]) == 0
    printed = capsys.readouterr()
    assert printed.err == TOY
    assert "; 1 s, seed 0\n" in printed.out
    record = run_json(tmp_path / "run")
    assert record["status"] == "finished"
    assert record["search_s"] >= 1.0  # type: ignore[operator]
    made = record["iterations"]
    capsys.readouterr()
    assert main(["search", "--resume", str(tmp_path / "run"), "--time", "0.1"]) == 0  # so many seconds more
    more = run_json(tmp_path / "run")["iterations"]
    assert more > made  # type: ignore[operator]
    budget = int(more) + 40  # type: ignore[call-overload]
    assert main(["search", "--resume", str(tmp_path / "run"), "--search-budget", str(budget)]) == 0  # a new limit
    assert run_json(tmp_path / "run")["iterations"] == budget + 1
    assert run_json(tmp_path / "run")["extended_at"] == [made, more]
    page = (tmp_path / "run" / "report.html").read_text()
    assert f"the run was resumed with other limits after {made}, {more} proposals" in page


def test_a_checkpoint_with_other_operators_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert search("-o", str(tmp_path / "run"), "--search-budget", "3") == 0
    path = tmp_path / "run" / "checkpoint.json"
    whole = orjson.loads(path.read_bytes())
    n_op = len(whole["current"]["after"])
    for after in ([n_op] * n_op, [-2] * n_op, [0] * n_op, [-1] * (n_op + 1), [[-1]] * n_op):  # 0 after itself
        path.write_bytes(orjson.dumps({**whole, "current": {**whole["current"], "after": after}}))
        assert main(["search", "--resume", str(tmp_path / "run"), "--search-budget", "9"]) == 2
        assert "is not of the run its run.json describes" in capsys.readouterr().err


def test_jobs_are_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexnet.search.jobs.LONGEST_TURN", 10)
    flags = ("--jobs", "2", "--budget", "200")
    shown = Display.show

    def show(self: Display, iteration: int, *rest: float) -> None:
        shown(self, iteration, *rest)
        if iteration > 100:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Display, "show", show)
        assert search(*flags, "-o", str(tmp_path / "stopped")) == 130
    assert main(["search", "--resume", str(tmp_path / "stopped")]) == 0
    assert search(*flags, "-o", str(tmp_path / "whole")) == 0
    assert run_json(tmp_path / "whole")["iterations"] == 201
    for file in ("strategy.json", "taskgraph.fbuf", "checkpoint.json"):
        assert (tmp_path / "stopped" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def test_a_strategy_tells_where_its_times_are_from(tmp_path: Path) -> None:
    assert search("-o", str(tmp_path / "run"), "--export", str(tmp_path / "s.json")) == 0
    for path in (tmp_path / "run" / "strategy.json", tmp_path / "s.json"):
        document = orjson.loads(path.read_bytes())
        assert (document["estimated"], document["times"]) == (True, "roofline a100")
        del document["estimated"], document["times"]
        (tmp_path / "without.json").write_bytes(orjson.dumps(document))
        assert read_strategy(tmp_path / "without.json") == read_strategy(path)


def test_ctrl_c_while_the_summary_is_worked_out_leaves_out_what_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(_: Plan) -> float:
        signal.raise_signal(signal.SIGINT)
        give_up()
        check()
        raise AssertionError("not reached")

    monkeypatch.setattr(Plan, "all_rounds_seconds", stopped)
    assert search("-o", str(tmp_path / "run"), "--budget", "20") == 130
    printed = capsys.readouterr()
    assert errors_of(printed.err) == []
    assert run_json(tmp_path / "run")["status"] == "finished"
    lines = printed.out.splitlines()
    assert any(line.startswith("wrote ") for line in lines)
    assert VERDICT.fullmatch(lines[-1])


@pytest.mark.parametrize("stopped_after", [1, 37, 201])
def test_interrupted_and_resumed_is_uninterrupted(
    stopped_after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = ("--budget", "200", "--enable-propagation")
    shown = Display.show

    def show(self: Display, iteration: int, *rest: float) -> None:
        shown(self, iteration, *rest)
        if iteration == stopped_after:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Display, "show", show)
        assert search(*flags, "-o", str(tmp_path / "stopped")) == 130  # at the end what is found is still to be priced
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    stopped = run_json(tmp_path / "stopped")
    assert stopped["iterations"] == stopped_after
    assert stopped["status"] == "interrupted"
    assert main(["search", "--resume", str(tmp_path / "stopped")]) == 0
    assert search(*flags, "-o", str(tmp_path / "whole")) == 0
    for file in ("strategy.json", "taskgraph.fbuf", "checkpoint.json"):
        assert (tmp_path / "stopped" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
    for figure in ("best_ms", "improved_at"):
        assert run_json(tmp_path / "stopped")[figure] == run_json(tmp_path / "whole")[figure]
    for run in ("stopped", "whole"):
        assert "This command finds the plan again" in (tmp_path / run / "report.html").read_text()


@pytest.mark.parametrize("semantics", ["corrected", "original"])
@pytest.mark.parametrize("topology", ["topoopt", "random"])
def test_more_budget_goes_on_with_the_same_chain(topology: str, semantics: str, tmp_path: Path) -> None:
    flags = ("--topology", topology, "--semantics", semantics)
    assert search(*flags, "--budget", "49", "-o", str(tmp_path / "grown")) == 0
    resume = ["search", "dlrm", "--resume", str(tmp_path / "grown"), *flags, "--seed", "0", "--nsimnode", "4"]
    assert main([*resume, "--budget", "99"]) == 0
    assert search(*flags, "--budget", "99", "-o", str(tmp_path / "whole")) == 0
    for file in ("strategy.json", "taskgraph.fbuf", "checkpoint.json"):
        assert (tmp_path / "grown" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


@pytest.mark.parametrize(
    "command",
    [
        [*SEARCH, "--budget", "0"],
        ["dlrmsim", "--topology", "fc", "--search-budget", "0"],
        ["models"],
        ["dp", "alexnet"],
    ],
)
def test_ctrl_c_before_anything_is_found(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("click.Command.make_context", interrupt)
    assert main(command) == 130
    expected = "interrupted before the search began; nothing was written" if "topo" in str(command) else "interrupted"
    assert errors_of(capsys.readouterr().err) == [f"flexnet: error: {expected}"]


def test_ctrl_c_in_a_kernel(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """CPython finds an exception that a compiled function did not raise, and says so by another one."""
    causes: list[BaseException] = [KeyboardInterrupt(), ValueError("none")]

    def fill(*_: object, **__: object) -> NoReturn:
        raise SystemError("returned a result with an exception set") from causes.pop(0)

    monkeypatch.setattr("flexnet.commands.runs.inputs.make_problem", fill)
    assert search() == 130
    (error,) = errors_of(capsys.readouterr().err)
    assert error == "flexnet: error: interrupted before the search began; nothing was written"
    with pytest.raises(SystemError):
        search()


def test_too_little_memory_is_one_sentence(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(*_: object, **__: object) -> NoReturn:
        raise MemoryError

    monkeypatch.setattr("flexnet.commands.runs.inputs.make_problem", fill)
    assert search() == 2
    (error,) = errors_of(capsys.readouterr().err)
    assert error.startswith("flexnet: error: this takes more memory than there is; make the model")


def test_where_compiled_code_cannot_be_kept_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    causes = [RuntimeError("cannot cache function 'fill': no locator available for file 'x.py'"), RuntimeError("other")]

    def fill(*_: object, **__: object) -> NoReturn:
        raise causes.pop(0)

    monkeypatch.setattr("flexnet.commands.runs.inputs.make_problem", fill)
    assert search() == 2
    (error,) = errors_of(capsys.readouterr().err)
    assert error.startswith("flexnet: error: compiled code can be kept neither") and "NUMBA_CACHE_DIR" in error
    with pytest.raises(RuntimeError, match="other"):
        search()


def test_few_servers_have_fewer_interfaces_unless_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = ("--topology", "topoopt", "--nsimnode", "2", "--budget", "1")
    assert search(*few, "-o", str(tmp_path / "two")) == 0
    assert run_json(tmp_path / "two")["interfaces"] == 2
    capsys.readouterr()
    assert search(*few, "--degree", "4") == 2
    assert "--node-degree is 4 and --nsimnode is 2" in capsys.readouterr().err


@pytest.mark.parametrize("into", [("--taskgraph", "t.fbuf"), ("-o", ".")])
def test_ctrl_c_writes_what_was_found(into: tuple[str, str], tmp_path: Path) -> None:
    status, out, errors = flexnet_interrupted(*SEARCH, "--budget", "1000000000", *into, cwd=tmp_path, after="start")
    assert status == 130, errors
    assert VERDICT.fullmatch(out.splitlines()[-1])
    assert "interrupted" in out
    assert errors_of(errors) == []
    assert read_taskgraph(tmp_path / ("t.fbuf" if into[0] == "--taskgraph" else "taskgraph.fbuf")).n_server == 4


def test_two_searches_do_not_write_to_one_directory(tmp_path: Path) -> None:
    endless = [*SEARCH, "--budget", "1000000000", "-o", "run"]
    with subprocess.Popen(
        [sys.executable, "-m", "flexnet", *endless],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    ) as first:
        assert first.stdout is not None
        next(line for line in first.stdout if line.startswith("start"))
        for words in (["search", "--resume", "run"], endless, [*endless, "--overwrite"]):
            second = flexnet(*words, cwd=tmp_path)
            assert second.returncode == 2
            (error,) = errors_of(second.stderr)
            assert error.startswith("flexnet: error: another search is writing to run; ")
        first.kill()
    left = {
        ".flexnet.lock",
        "checkpoint.json",
        "history.json",
        "run.json",
    }  # the lock's file stays where its holder was killed
    assert {path.name for path in (tmp_path / "run").iterdir()} == left
    made = orjson.loads((tmp_path / "run/checkpoint.json").read_bytes())["iteration"]
    assert isinstance(made, int)  # more than none if there was time for a checkpoint; it is the first file of each
    third = flexnet("search", "--resume", "run", "--budget", str(made + 10), cwd=tmp_path)
    assert third.returncode == 0, third.stderr  # the lock went with its process


def test_killed_runs_resume_from_their_last_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        """As if the power failed."""

    shown = Display.show

    def show(self: Display, iteration: int, *rest: float) -> None:
        shown(self, iteration, *rest)
        if iteration == 50:
            raise Killed

    flags = ("--budget", "99")
    with monkeypatch.context() as patch:
        patch.setattr(Display, "show", show)
        patch.setattr("flexnet.commands.search.FIRST_CHECKPOINT_S", 0.0)
        patch.setattr("flexnet.commands.search.CHECKPOINT_S", 0.0)
        with pytest.raises(Killed):
            search(*flags, "-o", str(tmp_path / "killed"))
    killed = run_json(tmp_path / "killed")
    assert (killed["status"], killed["iterations"]) == ("running", 49)
    assert main(["search", "--resume", str(tmp_path / "killed")]) == 0
    assert search(*flags, "-o", str(tmp_path / "whole")) == 0
    for file in ("strategy.json", "taskgraph.fbuf", "checkpoint.json"):
        assert (tmp_path / "killed" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def test_a_run_under_way_tells_exact_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By replays of the file, which are not quite what proposals are priced at."""
    flags = ["search", "vgg", "--batch-size", "512", "--nsimnode", "8", "--topology", "fattree", "--net-opt", "1"]
    flags += ["--interface-bandwidth", "40", "--enable-propagation"]
    shown = Display.show
    seen: list[dict[str, object]] = []

    def show(self: Display, iteration: int, *rest: float) -> None:
        shown(self, iteration, *rest)
        seen.append(run_json(tmp_path / "whole"))

    with monkeypatch.context() as patch:
        patch.setattr(Display, "show", show)
        patch.setattr("flexnet.commands.search.FIRST_CHECKPOINT_S", 0.0)
        patch.setattr("flexnet.commands.search.CHECKPOINT_S", 0.0)
        assert main([*flags, "--method", "mcmc", "--budget", "99", "-o", str(tmp_path / "whole")]) == 0
    assert {document["status"] for document in seen} == {"running"}
    found = run_json(tmp_path / "whole")
    assert {document["initial_ms"] for document in seen} == {found["initial_ms"]}
    assert seen[0]["best_ms"] == found["initial_ms"]
    assert seen[0]["best_search_ms"] != pytest.approx(found["initial_ms"], rel=1e-7)
    assert seen[-1]["best_ms"] == pytest.approx(found["best_ms"], rel=0.01)  # of the elite, another may be better


def test_result_is_not_lost_when_it_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from flexnet.commands.runs import directory as run_directory

    def check(path: Path) -> None:
        """As if the place became unwritable while the search ran."""

    monkeypatch.setattr(run_directory, "check_writable", check)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    gone = tmp_path / "gone"
    assert search("--taskgraph", str(gone / "t.fbuf"), "--export", str(gone / "away" / "t.fbuf")) == 2
    printed = capsys.readouterr()
    assert VERDICT.fullmatch(printed.out.splitlines()[-1])
    (error,) = errors_of(printed.err)
    assert re.search(r"cannot write .*gone/t.fbuf: ", error)
    strategy, graph = (Path(path) for path in re.findall(r"\(it is in (\S*) instead\)", error))
    assert len(read_strategy(strategy)) == 4
    assert read_taskgraph(graph).n_server == 4


def test_profile_writes_a_measurement_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["profile", "dlrm", "-b", "128", "--nsimnode", "8", "--big-gpu", "2", "--device", "analytic"]) == 0
    assert "estimated (roofline a100)" in capsys.readouterr().out
    table = read_measurement(tmp_path / "measure_128_8.json", batch_size=128, n_server=8)
    assert table.estimated
    assert table.provenance["command_line"] == [
        "flexnet",
        "profile",
        "dlrm",
        "-b",
        "128",
        "--nsimnode",
        "8",
        "--big-gpu",
        "2",
        "--device",
        "analytic",
    ]
    before = (tmp_path / "measure_128_8.json").read_bytes()
    other = ["profile", "vgg", "-b", "128", "--nsimnode", "8", "--device", "analytic"]
    assert main(other) == 2  # of the same name
    assert "measure_128_8.json is there already; name a file with -o" in capsys.readouterr().err
    assert (tmp_path / "measure_128_8.json").read_bytes() == before
    assert main([*other, "-o", "vgg.json"]) == main([*other, "-o", "vgg.json"]) == 0
    flags = ("search", "dlrm", "-b", "128", "--nsimnode", "8", "--big-gpu", "2", "--topology", "fattree")
    assert main([*flags, "-o", "estimated"]) == 0
    assert main([*flags, "--mfile", "measure_128_8.json", "-o", "read"]) == 0
    read, estimated = (run_json(tmp_path / name)["best_ms"] for name in ("read", "estimated"))
    assert read == pytest.approx(estimated, rel=1e-6)  # a file's times are rounded
    assert run_json(tmp_path / "read")["estimated"] is True


def test_help_of_a_model_tells_how_it_differs_from_its_paper(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("search", "profile"):
        assert main([command, "vgg", "--help"]) == 0
        assert "vgg is the original's VGG-16 with 229x229 images, padding 2 and" in capsys.readouterr().out


def test_models_lists_every_model_and_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    listed = capsys.readouterr().out
    for name, spec in MODELS.items():
        assert f"\n{name} " in f"\n{listed}"
        for flag in spec.flags:
            assert flag.name in listed
    assert "4192-4192-4192" in listed


def test_validate(shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "measurements").symlink_to(shared_data / "measurements")
    (tmp_path / "costs").mkdir()
    source = shared_data / "costs" / "dlrm16.topoopt.init.json"
    (tmp_path / "costs" / source.name).write_bytes(source.read_bytes())
    assert main(["validate", "--data", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("costs/dlrm16.topoopt.init.json")
    assert lines[0].endswith("ok")
    record = orjson.loads(source.read_bytes())
    record["cost_ms"] *= 1.01
    (tmp_path / "costs" / source.name).write_bytes(orjson.dumps(record))
    assert main(["validate", "--data", str(tmp_path)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 cases: 0 ok, 1 out of tolerance"


@pytest.mark.parametrize(
    "arguments",
    [
        *([command, "--help"] for command in ("search", "profile", "simulate", "validate", "dp", "models", "dlrmsim")),
        ["--help"],
        ["--version"],
        ["models"],
        ["search", "dlrm", "--help"],
        ["search", "--node-degre", "4"],
    ],
    ids=" ".join,
)
def test_help_and_wrong_flags_load_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    """They answer at once."""
    heavy = {"numba", "numpy", "torch", "networkx", "rustworkx", "orjson", "flatbuffers"}
    script = (
        "import sys\n"
        "from flexnet.__main__ import main\n"
        f"status = main({arguments!r})\n"
        f"sys.exit(', '.join({heavy!r} & sys.modules.keys()) or status)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == (2 if "--node-degre" in arguments else 0), done.stderr


def test_help_names_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "dlrm", "--help"]) == 0
    shown = capsys.readouterr().out
    for flag in ("--search-budget, --budget N", "--node-degree, --degree D", "--arch-mlp-bot N-N-..", "--resume DIR"):
        assert flag in shown
    takes = {"search": "MODEL ", "profile": "MODEL ", "simulate": "FILE ", "dp": "GRAPH ", "validate": "", "models": ""}
    for command, what in takes.items():
        assert main([command, "--help"]) == 0
        shown = capsys.readouterr().out
        assert shown.startswith(f"Usage: flexnet {command} [flags] {what}".rstrip())
        assert ("models: dlrm, candle_uno" in shown) == (what == "MODEL ")
    assert main(["--version"]) == 0
