"""A Dask scheduler and workers in processes of their own, on loopback."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson
from command_lines import ROOT, environment

_QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@dataclass
class DaskCluster:
    address: str
    workers: list[subprocess.Popen[bytes]]


@contextmanager
def dask_cluster(directory: Path, n_worker: int) -> Iterator[DaskCluster]:
    env = environment()
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "tests" / "helpers"), env["PYTHONPATH"]])
    file = directory / "scheduler.json"
    common = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file)]
    with ExitStack() as stack:

        def start(kind: str, *words: str) -> subprocess.Popen[bytes]:
            command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *common, *words]
            process = stack.enter_context(subprocess.Popen(command, cwd=directory, env=env, **_QUIET))
            stack.callback(process.kill)
            return process

        start("scheduler", "--port", "0")
        until = time.monotonic() + 60
        while not file.exists() or not file.read_bytes():
            assert time.monotonic() < until, "the scheduler did not start"
            time.sleep(0.1)
        workers = [start("worker", "--nthreads", "1", "--no-nanny") for _ in range(n_worker)]
        yield DaskCluster(orjson.loads(file.read_bytes())["address"], workers)
