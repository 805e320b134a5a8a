"""Points computed by processes of this machine: each once, whatever dies."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest
from command_lines import ROOT, environment
from stand_in import WORK, points

from flexnet.errors import FlexNetError
from flexnet.sweep.local import compute_here
from flexnet.sweep.store import Store, key_of, read_rows
from flexnet.sweep.task import Task
from flexnet.sweep.worker import compute as compute_point


@pytest.fixture(autouse=True)
def helpers(monkeypatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "helpers"))


def tasks_of(given: list[dict[str, object]]) -> list[Task]:
    return [Task(key_of(point), point) for point in given]


def compute(tmp_path: Path, tasks: list[Task], retries: int = 2) -> dict[int, str]:
    store, told = Store(tmp_path / "store"), dict[int, str]()
    token = store.open()
    waiting = [task for task in tasks if not store.has(task.key)]

    def done(task: Task, problem: str) -> None:
        told[task.point["id"]] = problem

    compute_here(waiting, WORK, store, token, n_worker=2, retries=retries, done=done)
    return told


def computed(tmp_path: Path) -> list[int]:
    return sorted(int(line.split()[0]) for line in (tmp_path / "log").read_text().splitlines())


def test_every_point_once_and_none_again(tmp_path) -> None:
    tasks = tasks_of(points(6, 0.0, tmp_path / "log"))
    assert compute(tmp_path, tasks) == dict.fromkeys(range(6), "")
    assert compute(tmp_path, tasks) == {}
    assert computed(tmp_path) == list(range(6))
    store = Store(tmp_path / "store")
    assert [row["id"] for row in store.rows(task.key for task in tasks)] == list(range(6))
    assert len({row["pid"] for row in store.rows(task.key for task in tasks)}) <= 2


def test_a_dead_process_costs_its_point_a_retry(tmp_path) -> None:
    tasks = tasks_of(points(5, 0.0, tmp_path / "log"))
    (tmp_path / "deadly-2").write_text("2")
    assert compute(tmp_path, tasks) == dict.fromkeys(range(5), "")
    assert computed(tmp_path) == list(range(5))


def test_a_point_that_kills_every_process_is_given_up(tmp_path) -> None:
    tasks = tasks_of(points(3, 0.0, tmp_path / "log"))
    (tmp_path / "deadly-1").write_text("9")
    assert compute(tmp_path, tasks, retries=1) == {0: "", 1: "its process died 2 times", 2: ""}
    assert computed(tmp_path) == [0, 2]


def test_a_wrong_point_is_told_and_not_kept(tmp_path) -> None:
    tasks = tasks_of([{**point, "wrong": point["id"] == 1} for point in points(3, 0.0, tmp_path / "log")])
    assert compute(tmp_path, tasks) == {0: "", 1: "point 1 is wrong", 2: ""}
    assert not Store(tmp_path / "store").has(tasks[1].key)


SWEEP = """
import sys
from pathlib import Path
from stand_in import WORK, points
from flexnet.sweep.local import compute_here
from flexnet.sweep.store import Store, key_of
from flexnet.sweep.task import Task
from flexnet.sweep.worker import compute as compute_point
store = Store(Path(sys.argv[1]) / "store")
token = store.open()
tasks = [Task(key_of(point), point) for point in points(8, 0.3, Path(sys.argv[1]) / "log")]
waiting = [task for task in tasks if not store.has(task.key)]
compute_here(waiting, WORK, store, token, n_worker=2, retries=0, done=lambda task, problem: print("done", flush=True))
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_stopped_and_run_again_no_finished_point_is_redone(tmp_path, sent) -> None:
    words = [sys.executable, "-c", SWEEP, str(tmp_path)]
    env = environment()
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "tests" / "helpers"), env["PYTHONPATH"]])
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as first:
        assert first.stdout is not None
        for _ in range(3):
            first.stdout.readline()
        first.send_signal(sent)
    assert first.returncode not in (0, None)
    time.sleep(1.0)  # those that were killed with it are gone, and have written nothing more
    finished = computed(tmp_path)
    assert 3 <= len(finished) < 8
    subprocess.run(words, env=env, check=True, capture_output=True, timeout=60)
    assert computed(tmp_path) == list(range(8))


def test_tables_hold_every_row_and_are_read_back(tmp_path) -> None:
    store = Store(tmp_path)
    store.open()
    rows = [{"x": 1.5, "name": "a,b", "hops": [0, 2]}, {"x": 2.5, "name": "true", "more": {"k": 1}, "ok": True}]
    for i, row in enumerate(rows):
        store.put(str(i), row)
    parquet, text = store.write_tables(["0", "1", "missing"])
    whole = read_rows(tmp_path)
    assert whole == read_rows(parquet)
    assert [row["x"] for row in whole] == [1.5, 2.5]
    assert whole[0]["hops"] == [0, 2] and whole[1]["hops"] is None and whole[1]["more"] == '{"k":1}'
    from_text = read_rows(text)
    assert [row["x"] for row in from_text] == [1.5, 2.5]
    assert from_text[0]["name"] == "a,b" and from_text[0]["hops"] == [0, 2] and from_text[1]["ok"] is True


def test_what_holds_no_results(tmp_path) -> None:
    with pytest.raises(FlexNetError, match=r"holds no results\.parquet"):
        read_rows(tmp_path)
    (tmp_path / "results.parquet").write_bytes(b"nothing")
    with pytest.raises(FlexNetError, match="is not a Parquet file"):
        read_rows(tmp_path)
    (tmp_path / "results.csv").write_text("a,b\n")
    with pytest.raises(FlexNetError, match="has no rows"):
        read_rows(tmp_path / "results.csv")
    with pytest.raises(FlexNetError, match="cannot read"):
        read_rows(tmp_path / "nothing.csv")
    for row, n in (("4", "1 cell"), ("4,7,8", "3 cells")):
        (tmp_path / "cut.csv").write_text(f"a,b\n1,2\n{row}\n")
        with pytest.raises(FlexNetError, match=f"row 2 has {n} and the head 2"):
            read_rows(str(tmp_path / "cut.csv"))


def test_a_worker_answers_in_json_and_looks_first_whether_the_row_is_there(tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "helpers"))
    store = Store(tmp_path / "store")
    token = store.open()
    (task,) = tasks_of(points(1, 0.0, tmp_path / "log"))
    rows = [orjson.loads(compute_point(WORK, task.text(store, given)))["row"] for given in ("another", token, token)]
    assert computed(tmp_path) == [0, 0]  # the first did not see the store, the third found the row of the second
    assert [row["id"] for row in rows] == [0, 0, 0]
    (wrong,) = tasks_of([{**points(1, 0.0, tmp_path / "log")[0], "wrong": True}])
    assert orjson.loads(compute_point(WORK, wrong.text(store, token))) == {"error": "point 0 is wrong"}
