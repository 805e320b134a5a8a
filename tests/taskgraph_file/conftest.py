"""Tools the tests of task graph files run."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from fbuf_samples import SCHEMA


@pytest.fixture(scope="session")
def flatc() -> str:
    """The schema compiler that made the generated code."""
    path = shutil.which("flatc")
    if path is None:
        pytest.skip("flatc is not installed")
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    if "2.0.8" not in version:
        pytest.skip(f"the generated code is made by flatc 2.0.8, here is {version.strip()}")
    return path


@pytest.fixture(scope="session")
def cpp_accepts(flatc: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Iterable[Path]], list[bool]]:
    """Verdicts of the C++ verifier on files."""
    compiler = shutil.which("g++")
    if compiler is None or not Path("/usr/include/flatbuffers/flatbuffers.h").is_file():
        pytest.skip("g++ or the flatbuffers C++ headers are not installed")
    directory = tmp_path_factory.mktemp("verifier")
    subprocess.run([flatc, "--cpp", "-o", directory, SCHEMA], check=True)
    program = directory / "verifier"
    source = Path(__file__).with_name("verifier.cpp")
    subprocess.run([compiler, "-std=c++17", "-O1", "-I", directory, "-o", program, source], check=True)

    def verdicts(paths: Iterable[Path]) -> list[bool]:
        out = subprocess.run([program, *paths], capture_output=True, text=True, check=True).stdout
        return [line == "1" for line in out.split()]

    return verdicts


@pytest.fixture(scope="session")
def acceptance_check(shared_data: Path) -> Callable[[Path, str, int], str]:
    """What the published acceptance checks say of a file for a target of the packet simulator."""
    script = shared_data.parent / "tools" / "check_fbuf.py"
    if not script.is_file():
        pytest.skip("the published acceptance checks are not on this machine")

    def check(path: Path, target: str, n_node: int) -> str:
        command = [sys.executable, script, path, "--target", target, "--nodes", str(n_node)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    return check


@pytest.fixture(scope="session")
def published(shared_data: Path) -> list[Path]:
    """Task graph files of the original."""
    return sorted([*shared_data.glob("taskgraphs/*.fbuf"), *shared_data.glob("plans/*.fbuf")])
