"""Which way do the inputs of a search take through the code?  ``python tests/walk.py [words of a command line]``.

Runs a command line under ``sys.setprofile`` and writes down, for every function of flexnet that is called for the first
time, the module it is in.  Modules one after the other are *stays*; a stay in a room that may import the one before is
a *climb back up*.  Rooms and their order are those of the import contract in pyproject.toml.  Read it from the top: a
house that is easy to follow is walked through from room to room, with few climbs.
"""

import contextlib
import io
import sys
import tomllib
from itertools import groupby, pairwise
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
SEARCH = "search dlrm --topology topoopt --nsimnode 4 --batch-size 64 --search-budget 20 --seed 3 --start dp"


def floors() -> dict[str, int]:
    """The floor of every room, the top one highest."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return {room.strip(): n for n, layer in enumerate(reversed(layers)) for room in layer.split("|")}


def walk(words: list[str]) -> list[tuple[str, str]]:
    """Module and name of every function of flexnet, in the order of their first calls."""
    from flexnet.__main__ import main

    entered: dict[object, tuple[str, str]] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        module = str(frame.f_globals.get("__name__", ""))
        if event == "call" and module.startswith("flexnet.") and frame.f_code.co_name != "<module>":
            entered.setdefault(frame.f_code, (module.removeprefix("flexnet."), frame.f_code.co_qualname))

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main(words)  # imports; and what is kept from call to call is kept in both houses
        sys.setprofile(note)
        try:
            status = main(words)
        finally:
            sys.setprofile(None)
    assert status == 0, f"exit status {status}"
    return list(entered.values())


def climbs(modules: list[str]) -> int:
    """How often a stay is on a higher floor than the one before."""
    floor = floors()
    height = [floor[module.split(".")[0]] for module in modules]
    return sum(after > before for before, after in pairwise(height))


def main() -> None:
    """Walk, and say where."""
    calls = walk(sys.argv[1:] or SEARCH.split())
    stays = [module for module, _ in groupby(module for module, _ in calls)]
    first = list(dict.fromkeys(stays))
    for module in stays:
        print(module)
    print(f"functions by first call: {len(stays)} stays in {len(first)} modules, {climbs(stays)} climbs back up")
    print(f"modules by first entry: {len(first)}, {climbs(first)} climbs back up")


if __name__ == "__main__":
    main()
