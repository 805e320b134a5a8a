"""The original programs' command lines, as their README, scripts and word processors wrote them."""

import re
from pathlib import Path

import pytest
from command_lines import errors_of, run_json

from flexnet.__main__ import main
from flexnet.commands.requests.legacy import rewrite
from flexnet.commands.requests.original_programs import NO_EFFECT, PROGRAMS
from flexnet.commands.requests.profile import PROFILE_FLAGS
from flexnet.commands.requests.search_flags import SEARCH_FLAGS
from flexnet.errors import FlexNetError
from flexnet.model.zoo import MODELS

SMALL = "-ll:gpu 1 -ll:cpu 1 -ll:zsize 20000 -ll:fsize 39000 -ll:util 4 -dm:memoize --nsimnode 4 --nsimgpu 1"


def test_programs_are_the_models() -> None:
    assert {spec.program: spec.name for spec in MODELS.values() if spec.program} == PROGRAMS


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("---batch-size 4096", "--batch-size 4096"),
        ("\u2013mfile m.json", "--mfile m.json"),
        ("\u2014mfile m.json", "--mfile m.json"),
        ("\u2013\u2013mfile=m.json", "--mfile=m.json"),
        ("\u2013b 64", "-b 64"),
        ("\u2212-budget 5", "--budget 5"),
    ],
)
def test_dashes_are_read_as_meant(typed: str, meant: str) -> None:
    argv, (warning,) = rewrite("vggsim", typed.split())
    assert argv == ["search", "vgg", *meant.split()]
    flag = re.split("[ =]", typed)[0]
    assert warning == f"read {flag} as {re.split('[ =]', meant)[0]}"


def test_runtime_flags_go_with_their_values() -> None:
    argv, warnings = rewrite("dlrmsim", [*SMALL.split(), "-ll:bgwork", "2", "\u2013ll:csize", "9", "--topology", "fc"])
    assert argv == ["search", "dlrm", "--nsimnode", "4", "--topology", "fc"]
    named = [warning.split()[0] for warning in warnings if not warning.startswith("read ")]
    assert named == [
        "-ll:cpu",
        "-ll:zsize",
        "-ll:fsize",
        "-ll:util",
        "-dm:memoize",
        "--nsimgpu",
        "-ll:bgwork",
        "-ll:csize",
    ]


@pytest.mark.parametrize("flag", sorted(NO_EFFECT))
def test_flags_without_effect_are_named_once(flag: str) -> None:
    given = [flag, "7"] if NO_EFFECT[flag] else [flag]
    argv, warnings = rewrite("vggsim", [*given, "--topology", "fc", *given])
    assert argv == ["search", "vgg", "--topology", "fc"]
    assert [warning.startswith(f"{flag} has no effect") for warning in warnings] == [True]


@pytest.mark.parametrize("gpus", ["0", "2", "x"])
def test_several_gpus_are_big_gpu(gpus: str) -> None:
    with pytest.raises(FlexNetError, match=f"-ll:gpu is {gpus}; it must be 1: .* --big-gpu"):
        rewrite("vggsim", ["-ll:gpu", gpus])


@pytest.mark.parametrize("flag", sorted(flag for flag, has_value in NO_EFFECT.items() if has_value))
def test_a_flag_without_effect_leaves_the_next_flag_alone(flag: str) -> None:
    argv, _ = rewrite("vggsim", [flag, "--batch-size", "64", flag, "-1", "--topology", "fc", flag])
    assert argv == ["search", "vgg", "--batch-size", "64", "--topology", "fc"]


@pytest.mark.parametrize("measure", [True, False])
def test_flags_of_the_other_command_are_all_known(measure: bool) -> None:
    own, other = (PROFILE_FLAGS, SEARCH_FLAGS) if measure else (SEARCH_FLAGS, PROFILE_FLAGS)
    shared = {name for option in own for name in option.opts}
    for option in other:
        for name in set(option.opts) - shared:
            words = [name] if option.is_flag else [name, "7"]
            argv, (warning,) = rewrite("vggsim", [*words, *["--measure"][: int(measure)]])
            assert argv == ["profile" if measure else "search", "vgg"]
            assert warning == f"{name} has no effect {'with' if measure else 'without'} --measure"


def test_the_last_of_two_values_counts_and_is_warned_about() -> None:
    flags = ["--budget", "5", "-b", "64", "--search-budget=7", "--batch-size", "64", "--topology", "fc"]
    argv, (warning,) = rewrite("vggsim", flags)
    assert argv == ["search", "vgg", "-b", "64", "--search-budget=7", "--batch-size", "64", "--topology", "fc"]
    assert warning == "--search-budget is given as 5 and as 7; the last counts, as in the original programs"


def test_gpus_without_a_number() -> None:
    with pytest.raises(FlexNetError, match="-ll:gpu needs a value"):
        rewrite("vggsim", ["-ll:gpu", "--topology", "fc"])


def test_moe_without_a_topology_s_name() -> None:
    assert rewrite("moesim", ["--topology", "-b", "64"])[0][2:] == ["--topology", "-b", "64", "--topology", "topoopt"]


def test_moe_is_always_on_topoopt() -> None:
    assert rewrite("moesim", ["-b", "64"]) == (["search", "moe", "-b", "64", "--topology", "topoopt"], [])
    assert rewrite("moesim", ["--topology", "topoopt"])[1] == []
    argv, (warning,) = rewrite("moesim", ["--topology", "fattree"])
    assert argv == ["search", "moe", "--topology", "topoopt"]
    assert "--topology fattree has no effect" in warning
    assert rewrite("moesim", ["--topology=fc"])[0] == argv


def test_measure_is_profile() -> None:
    flags = "-b 64 --measure --max-localsz 32 --topology fc --budget 10 --enable-propagation --nsimnode 4"
    argv, warnings = rewrite("alexnetsim", flags.split())
    assert argv == ["profile", "alexnet", "-b", "64", "--max-localsz", "32", "--nsimnode", "4"]
    assert [warning.split()[0] for warning in warnings] == ["--topology", "--budget", "--enable-propagation"]
    assert rewrite("alexnetsim", ["--max-localsz", "32"])[1] == ["--max-localsz has no effect without --measure"]


@pytest.mark.compiled
def test_both_spellings_give_the_same_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = str(tmp_path / "dlrm4.json")
    assert main(["profile", "dlrm", "-b", "128", "--nsimnode", "4", "--device", "analytic", "-o", table]) == 0
    flags = ["--interface-bandwidth", "100", "--network-latency", "1", "--inter-gpu-bandwidth", "200", "--net-opt", "1"]
    flags += ["--enable-propagation", "--topology", "topoopt", "--seed", "2"]
    old = [*SMALL.split(), "---batch-size", "128", "\u2013mfile", table, "--degree", "2", "--gpu-dram-bandwidth", "256"]
    assert main(["dlrmsim", *old, *flags, "--budget", "60", "-o", str(tmp_path / "old")]) == 0
    warnings = capsys.readouterr().err
    assert errors_of(warnings) == []
    assert warnings.count("corrected semantics") == 1
    assert warnings.count("--gpu-dram-bandwidth has no effect") == 1
    new = ["--batch-size", "128", "--nsimnode", "4", "--mfile", table, "--node-degree", "2", "--search-budget", "60"]
    assert main(["search", "dlrm", *new, *flags, "-o", str(tmp_path / "new")]) == 0
    for file in ("strategy.json", "taskgraph.fbuf", "checkpoint.json"):
        assert (tmp_path / "old" / file).read_bytes() == (tmp_path / "new" / file).read_bytes()
    assert run_json(tmp_path / "old")["inputs"] == run_json(tmp_path / "new")["inputs"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_finds_a_plan(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    model = ["--dense-layers", "64", "--dense-feature-layers", "64"] if program == "candle_unosim" else []
    model += ["--num-layers", "1", "--sequence-length", "16"] if program == "transformersim" else []
    topology = [] if program == "moesim" else ["--topology", "topoopt"]
    flags = ["--nsimnode", "4", "--budget", "2", "--semantics", "original"]
    assert main([program, *model, *topology, *flags]) == 0
    printed = capsys.readouterr()
    assert printed.err.count("semantics") == 0
    assert printed.out.splitlines()[-1].startswith("best ")


def test_a_degree_is_dropped_where_the_topology_has_none():
    words = ["--topology", "fattree", "--node-degree", "4", "--nsimnode", "16"]
    argv, warnings = rewrite("dlrmsim", words)
    assert argv == ["search", "dlrm", "--topology", "fattree", "--nsimnode", "16"]
    assert warnings == ["--node-degree has no effect with --topology fattree"]
    assert rewrite("dlrmsim", ["--topology", "topoopt", *words[2:]])[1] == []
