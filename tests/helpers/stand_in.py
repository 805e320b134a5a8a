"""Points of sweeps that take a known time, and note in a file every time that they are computed."""

import os
import signal
import time
from pathlib import Path
from typing import Any

from flexnet.errors import FlexNetError

WORK = "stand_in:row_of"


def row_of(point: dict[str, Any]) -> dict[str, Any]:
    if point.get("wrong"):
        raise FlexNetError(f"point {point['id']} is wrong")
    deadly = Path(point["log"]).with_name(f"deadly-{point['id']}")
    if deadly.exists():
        deaths = int(deadly.read_text())
        if deaths:
            deadly.write_text(str(deaths - 1))
            os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(point["seconds"])
    with Path(point["log"]).open("a") as log:
        log.write(f"{point['id']} {os.getpid()}\n")
    return {"id": point["id"], "pid": os.getpid()}


def points(n: int, seconds: float, log: Path) -> list[dict[str, Any]]:
    return [{"id": i, "seconds": seconds, "log": str(log)} for i in range(n)]
