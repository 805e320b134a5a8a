"""Points computed on a Dask cluster: each once, whatever dies."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_lines import ROOT, environment
from dask_cluster import dask_cluster

from flexnet.errors import FlexNetError
from flexnet.sweep.cluster import check_scheduler
from flexnet.sweep.store import Store

SWEEP = """
import sys
from pathlib import Path
from stand_in import WORK, points
from flexnet.sweep.cluster import compute_there
from flexnet.sweep.store import Store, key_of
from flexnet.sweep.task import Task
directory, address, n, seconds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
store = Store(directory / "store")
token = "another" if len(sys.argv) > 5 else store.open()  # another: workers do not see the store
tasks = [Task(key_of(point), point) for point in points(n, seconds, directory / "log")]
waiting = [task for task in tasks if not store.has(task.key)]
def done(task, problem):
    print("done", task.point["id"], problem, flush=True)
compute_there(waiting, WORK, store, token, scheduler=address, done=done)
print(len(store.rows(task.key for task in tasks)), "rows")
"""


def client(tmp_path: Path, address: str, *words: str) -> "subprocess.Popen[str]":
    env = environment()
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "tests" / "helpers"), env["PYTHONPATH"]])
    command = [sys.executable, "-c", SWEEP, str(tmp_path), address, *words]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def computed(tmp_path: Path) -> list[int]:
    return sorted(int(line.split()[0]) for line in (tmp_path / "log").read_text().splitlines())


def test_all_results_none_twice_though_a_worker_and_the_client_are_killed(tmp_path) -> None:
    with dask_cluster(tmp_path, 2) as cluster:
        with client(tmp_path, cluster.address, "24", "0.25") as first:
            assert first.stdout is not None
            for _ in range(4):
                assert first.stdout.readline().startswith("done")
            cluster.workers[0].kill()
            for _ in range(3):
                assert first.stdout.readline().startswith("done")
            first.kill()
        store = Store(tmp_path / "store")
        before = {path.name: path.read_bytes() for path in store.points.glob("*.json")}
        assert 7 <= len(before) < 24
        with client(tmp_path, cluster.address, "24", "0.25") as second:
            out, err = second.communicate(timeout=120)
        assert second.returncode == 0, err
        assert out.splitlines()[-1] == "24 rows"
        assert all((store.points / name).read_bytes() == row for name, row in before.items())
    # A worker that dies has not noted what it was at, so that every point was noted once.
    assert computed(tmp_path) == list(range(24))


def test_points_go_on_without_a_client_and_are_not_computed_again(tmp_path) -> None:
    store = Store(tmp_path / "store")
    store.open()
    with dask_cluster(tmp_path, 1) as cluster:
        with client(tmp_path, cluster.address, "6", "0.2", "unseen") as first:
            assert first.stdout is not None
            assert first.stdout.readline().startswith("done")
            first.kill()
        until = time.monotonic() + 30
        while len(computed(tmp_path)) < 6:
            assert time.monotonic() < until
            time.sleep(0.1)
        assert len(list(store.points.glob("*.json"))) < 6
        with client(tmp_path, cluster.address, "6", "0.2", "unseen") as second:
            out, err = second.communicate(timeout=60)
        assert (second.returncode, out.splitlines()[-1]) == (0, "6 rows"), err
    assert computed(tmp_path) == list(range(6))


def test_an_unreachable_scheduler_is_told(monkeypatch) -> None:
    monkeypatch.setattr("flexnet.sweep.cluster.TIMEOUT_S", 0.5)
    with pytest.raises(FlexNetError, match=r"cannot reach the scheduler tcp://127\.0\.0\.1:9: "):
        check_scheduler("tcp://127.0.0.1:9")
