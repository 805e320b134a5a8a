"""flexnet sweep and flexnet plot from end to end, and what they refuse."""

import signal
import subprocess
import sys

import networkx as nx
import orjson
import pytest
from command_lines import ROOT, environment

from flexnet.__main__ import main
from flexnet.commands.requests.sweep import sweep_request
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph_file import write_graph
from flexnet.sweep.store import read_rows

PRICES = """
topologies = ["fattree", "topoopt", "fc"]
servers = [16, 128]
degrees = [8]
bandwidths = [100, 200]
"""

SEARCHES = """
title = "Small"
models = ["alexnet"]
topologies = ["topoopt", "fattree", "leafspine"]
servers = [4]
degrees = [4]
bandwidths = [40, 100]
budgets = [2]
same = "cost"
[search]
network_latency = 1
servers_per_leaf = 2
[model.alexnet]
batch_per_server = 16
"""


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        status = main(list(words))
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


@pytest.fixture
def written(tmp_path):
    def write(text, name="sweep.toml"):
        (tmp_path / name).write_text(text)
        return name

    return write


def test_prices_alone(run, written, tmp_path) -> None:
    file = written(PRICES.replace('"fattree", "topoopt", "fc"', '"fattree", "topoopt"'))
    status, out, err = run("sweep", file, "--jobs", "1")
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == "sweep: 8 points, 0 of them done before"
    rows = read_rows(tmp_path / "sweep")
    found = {(row["topology"], row["servers"], row["bandwidth"]): row["dollars"] for row in rows}
    assert len(found) == len(rows) == 8
    assert found["fattree", 128, 100.0] == 3070976 and found["topoopt", 128, 200.0] == 1605632
    status, out, _ = run("sweep", file)
    assert (status, out.splitlines()[0]) == (0, "sweep: 8 points, 8 of them done before")
    listed = run("sweep", file, "--list", "points")[1].splitlines()
    assert len(listed) == 9 and all(line.startswith("done  prices ") for line in listed[1:])
    assert run("plot", "sweep", "--x", "servers", "--y", "dollars", "--panels", "bandwidth", "-o", "cost.svg")[:2] == (
        0,
        "wrote cost.svg: 8 rows in 2 panels\n",
    )
    assert (tmp_path / "cost.svg").read_bytes().startswith(b"<?xml")


def test_what_the_money_does_not_buy_is_a_result(run, written, tmp_path) -> None:
    from flexnet.commands.runs.point import row_of

    dear = PRICES.replace("bandwidths = [100, 200]", "bandwidths = [100]\nsame = 'cost'").replace('"topoopt", ', "")
    assert run("sweep", written(dear), "--jobs", "1")[0] == 0
    rows = read_rows(tmp_path / "sweep")
    found = {(row["topology"], row["servers"]): row for row in rows}
    assert found["fc", 128]["dollars"] is None
    assert found["fc", 128]["remark"].startswith("costs at least $")
    assert found["fattree", 128]["dollars"] == 128 * 5521
    asked = sweep_request(["sweep.toml"], {"scheduler": None, "jobs": 1, "output": None, "retries": 0, "plan": None})
    again = [row_of(point) for point in asked.points]
    assert [row.get("dollars") for row in again] == [row["dollars"] for row in rows]


@pytest.mark.compiled
def test_searches_and_their_inputs(run, written, tmp_path) -> None:
    status, out, err = run("sweep", written(SEARCHES), "--jobs", "2", "-o", "out")
    assert (status, err) == (0, "")
    assert "6 of 6: " in out and out.splitlines()[-1] == "wrote out/results.parquet, out/results.csv"
    rows = read_rows(tmp_path / "out")
    assert [row["topology"] for row in rows[:3]] == ["topoopt", "fattree", "leafspine"]
    assert len({row["point"] for row in rows}) == 6
    first = rows[0]
    assert (first["batch_size"], first["interfaces"], first["interface_gbps"], first["seed"]) == (64, 4, 40.0, 0)
    assert orjson.loads(first["search"])["network_latency"] == 1.0
    assert {"version_flexnet", "version_numpy", "written", "gap", "bandwidth_tax", "dollars"} <= first.keys()
    assert rows[1]["dollars"] <= first["dollars"]
    status, out, _ = run("plot", "out", "--kind", "speedup", "--base", "fattree", "-o", "speedup.png")
    assert status == 0 and (tmp_path / "speedup.png").stat().st_size > 1000
    for y, is_said in (("iteration_ms", True), ("dollars", False)):
        assert run("plot", "out", "--x", "topology", "--y", y, "-o", f"{y}.svg")[0] == 0
        assert ("times are estimated" in (tmp_path / f"{y}.svg").read_text()) == is_said
    # Another budget is another point; what was done stays.
    status, out, _ = run(
        "sweep", written(SEARCHES.replace("[2]\nsame", "[2, 3]\nsame")), "-o", "out", "--list", "points"
    )
    assert out.splitlines()[0] == "Small: 12 points, 6 of them done before"


@pytest.mark.compiled
@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_and_run_again(written, tmp_path, sent, status) -> None:
    words = [sys.executable, "-m", "flexnet", "sweep", written(SEARCHES)]
    with subprocess.Popen(
        [*words, "--jobs", "1"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as first:
        assert first.stdout is not None and first.stderr is not None
        while not first.stdout.readline().startswith("2 of 6"):
            pass
        first.send_signal(sent)
        told = first.stderr.read()
    assert first.returncode == status
    assert "stopped after" in told and "the same command goes on from here" in told
    finished = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "sweep" / "points").glob("*.json")}
    assert 2 <= len(finished) < 6
    assert len(read_rows(tmp_path / "sweep")) == len(finished)
    again = subprocess.run([*words], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True)
    assert again.stdout.splitlines()[0] == f"Small: 6 points, {len(finished)} of them done before"
    points = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "sweep" / "points").glob("*.json")}
    assert len(points) == 6 and finished.items() <= points.items()


MINE = """
from flexnet.network.topologies.full_mesh import FullMesh

class Mine(FullMesh):
    name = "mine"
"""

OWN = """
import sys
from flexnet import TOPOLOGIES
from flexnet.__main__ import main
from mine import Mine

TOPOLOGIES["mine"] = Mine
if __name__ == "__main__":
    sys.exit(main())
"""


def test_a_topology_of_ones_own_is_swept_too(written, tmp_path) -> None:
    written(SEARCHES.replace('"topoopt"', '"mine"'))
    written(MINE, "mine.py")  # which it imports
    words = [sys.executable, written(OWN, "own.py"), "sweep", "sweep.toml", "--jobs", "1"]
    done = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {row["topology"] for row in read_rows(tmp_path / "sweep")} >= {"mine"}


def test_without_a_batch_that_of_the_file_is_swept(run, written, tmp_path) -> None:
    b = GraphBuilder("own", 48)
    b.cross_entropy(b.dense(b.input(16), 8))
    write_graph(tmp_path / "own.json", b.build())
    written('models = ["own.json"]\ntopologies = ["fattree"]\nservers = [4]\nbudgets = [1]\n')
    assert run("sweep", "sweep.toml", "--jobs", "1")[0] == 0
    (row,) = read_rows(tmp_path / "sweep")
    assert row["batch_size"] == 48


def test_a_point_that_cannot_be_is_told_before_any_is_computed(run, written) -> None:
    status, out, err = run("sweep", written(PRICES.replace("[8]", "[8, 17]")))
    assert (status, out) == (2, "")
    assert "topoopt of 16 servers needs 2 to 16 interfaces a server, not 17" in err


def test_a_network_that_has_other_interfaces_is_remarked_on(run, written, tmp_path) -> None:
    assert run("sweep", written(PRICES), "--jobs", "1")[0] == 0
    remarks = {(row["topology"], row["servers"]): row["remark"] for row in read_rows(tmp_path / "sweep")}
    assert remarks["fc", 16] == "fc of 16 servers has 15 interfaces a server, not 8"
    assert not remarks["topoopt", 16]


def test_a_drawing_has_one_speed_and_degree(run, written, tmp_path) -> None:
    ring = nx.cycle_graph(4)
    nx.set_edge_attributes(ring, 12.5e9, "bandwidth")
    nx.set_edge_attributes(ring, 1e-6, "latency")
    nx.write_graphml(ring, tmp_path / "ring.graphml")
    text = PRICES.replace('"fc"', '"ring.graphml"').replace("[16, 128]", "[4]").replace("[8]", "[2, 3]")
    assert run("sweep", written(text))[0] == 0
    rows = [row for row in read_rows(tmp_path / "sweep") if row["topology"] == "ring.graphml"]
    assert [(row["bandwidth"], row["degree"]) for row in rows] == [(100.0, 2)]
    assert (rows[0]["interface_gbps"], rows[0]["interfaces"]) == (100.0, 2)


def test_a_drawing_of_several_speeds_has_its_price_whatever_the_money(run, written, tmp_path) -> None:
    ring = nx.cycle_graph(4)
    nx.set_edge_attributes(ring, {edge: 12.5e9 * (1 + i % 2) for i, edge in enumerate(ring.edges)}, "bandwidth")
    nx.set_edge_attributes(ring, 1e-6, "latency")
    nx.write_graphml(ring, tmp_path / "ring.graphml")
    text = PRICES.replace('"fc"', '"ring.graphml"').replace("[16, 128]", "[4]").replace("[8]", "[2]")
    assert run("sweep", written(text + 'same = "cost"\n'))[0] == 0
    (row,) = (row for row in read_rows(tmp_path / "sweep") if row["topology"] == "ring.graphml")
    assert row["interface_gbps"] == 150.0 and row["dollars"] > 0


@pytest.mark.parametrize(
    ("words", "text", "sentence"),
    [
        (("sweep",), "", "no file given; use flexnet sweep FILE.toml"),
        (("sweep", "a", "b"), "", "unexpected argument 'b'; use flexnet sweep FILE.toml"),
        (("sweep", "sweep.toml"), PRICES + "seed = [1]\n", "sweep.toml: unknown key seed; did you mean seeds?"),
        (("sweep", "sweep.toml"), SEARCHES.replace("alexnet", "alexnett"), "did you mean alexnet?"),
        (("sweep", "sweep.toml"), SEARCHES.replace("= 16", "= 16.5"), "model.alexnet.batch_per_server"),
        (("sweep", "sweep.toml"), SEARCHES + 'mfile = "gone.json"\n', "gone.json: No such file"),
        (
            ("sweep", "sweep.toml"),
            SEARCHES + 'flags = { "--arch-mlp-bot" = "4-2" }\n',
            "flags of [model.alexnet] has --arch-mlp-bot, which is no flag of that model",
        ),
        (
            ("sweep", "sweep.toml"),
            SEARCHES.replace("alexnet", "dlrm") + 'flags = { "--arch-mlp-bot" = "4-2", "--mfile" = "m.json" }\n',
            "flags of [model.dlrm] has --mfile, which is no flag of that model; it has --arch-embedding-size, ",
        ),
        (("sweep", "sweep.toml", "--scheduler", "here"), PRICES, "it must be an address like tcp://127.0.0.1:8786"),
        (("sweep", "sweep.toml", "--scheduler", "tcp://a:1", "--jobs", "2"), PRICES, "exclude each other"),
        (("plot",), "", "no results given; use flexnet plot DIR"),
        (("plot", "."), "", "holds no results.parquet of a sweep"),
        (("plot", ".", "-o", "figure.gif"), "", "its name must end in .svg, .pdf or .png"),
        (("plot", ".", "--kind", "speedup"), "", "--base is what --kind speedup compares with; give both or neither"),
        (("plot", ".", "--where", "model"), "", "--where is 'model'; it must be COLUMN=VALUE"),
    ],
)
def test_what_is_refused(run, written, words, text, sentence) -> None:
    written(text)
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert err.startswith("flexnet: error: ") and sentence in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "library", "extra"),
    [
        (("sweep", "sweep.toml"), "pydantic", "sweep"),
        (("plot", "sweep", "-o", "x.svg"), "matplotlib", "report"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(run, written, monkeypatch, words, library, extra) -> None:
    from importlib import util

    find = util.find_spec
    written(PRICES)
    monkeypatch.setattr("flexnet.sweep.extra.find_spec", lambda name: None if name == library else find(name))
    monkeypatch.setattr("flexnet.report.extra.find_spec", lambda name: None if name == library else find(name))
    status, _, err = run(*words)
    assert status == 2
    assert library in err and f"pip install 'flexnet[{extra}]'" in err


MODEL_FILE = """
models = ["net.json"]
topologies = ["fc"]
servers = [2]
budgets = [1]
priced = false
"""


def write_mlp(path, width: int) -> None:
    b = GraphBuilder("mlp", batch_size=8)
    b.dense(b.dense(b.input(16), width), 4)
    write_graph(path, b.build())


def test_a_model_file_that_has_changed_is_another_point_and_another_search(run, written, tmp_path) -> None:
    """It lies beside the sweep, wherever the command is given."""
    (tmp_path / "sweeps").mkdir()
    model = tmp_path / "sweeps" / "net.json"
    file = written(MODEL_FILE, "sweeps/sweep.toml")
    write_mlp(model, 64)
    assert run("sweep", file, "--jobs", "1")[0] == 0
    assert run("sweep", file, "--list", "points")[1].splitlines()[0] == "sweep: 1 point, 1 of them done before"
    words = ["search", str(model), "--nsimnode", "2", "--topology", "fc", "--search-budget", "2", "--no-report"]
    assert run(*words, "-o", "found")[0] == 0
    write_mlp(model, 32)
    assert run("sweep", file, "--list", "points")[1].splitlines()[0] == "sweep: 1 point, 0 of them done before"
    status, _, err = run("search", "--resume", "found", "--search-budget", "4")
    assert (status, err) == (
        2,
        f"flexnet: error: MODEL {model} is not the file that found/run.json records; a resumed run needs the same\n",
    )


@pytest.mark.parametrize("file", sorted((ROOT / "examples" / "paper").glob("*.toml")), ids=lambda path: path.stem)
def test_sweeps_of_the_paper_can_be_computed(run, file) -> None:
    status, out, err = run("sweep", str(file), "--list", "points", "-o", "out")
    assert (status, err) == (0, "")
    assert int(out.splitlines()[0].split(": ")[1].split()[0]) == len(out.splitlines()) - 1


@pytest.mark.compiled
def test_more_bandwidth_begins_with_the_plan_of_less_where_that_is_faster(run, written, tmp_path) -> None:
    file = written(SEARCHES.replace('"fattree", "leafspine"', '"fattree"'))
    assert run("sweep", file, "--jobs", "2")[0] == 0
    rows = read_rows(tmp_path / "sweep")
    assert {row["warm_start"] for row in rows} == {""} and not any("strategy" in row for row in rows)
    # One that found nothing: what it is to find is what the same search finds from the other's plan.
    slow = next(row for row in rows if (row["topology"], row["bandwidth"]) == ("topoopt", 100.0))
    path = tmp_path / "sweep" / "points" / f"{slow['point']}.json"
    path.write_bytes(orjson.dumps({**orjson.loads(path.read_bytes()), "iteration_ms": 1e6}))
    status, out, err = run("sweep", file, "--jobs", "2")
    assert (status, err) == (0, "")
    assert out.splitlines()[1] == "1 point slower than with less: searched again from the faster plan"
    carried = [row for row in read_rows(tmp_path / "sweep") if row["warm_start"]]
    assert [(row["topology"], row["bandwidth"], row["warm_start"]) for row in carried] == [
        ("topoopt", 100.0, "4 x 40 Gbps")
    ]
    assert carried[0]["iteration_ms"] <= slow["iteration_ms"] * (1 + 1e-9)
    assert run("sweep", file)[1].count("\n") == 2  # nothing is left to do
