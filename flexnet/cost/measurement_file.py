"""Measurement files: the JSON the original's profiler writes and its search reads.

``{"batch_size": int, "ngpus": int, "measurements": [{"name", "pc_str", "fw_time", "bw_time", "mem_req"}, ...]}``
with times in milliseconds (model.cc:2271:write_measurement_to_json, model.cc:548:load_measurement).  Our files
carry more keys, at the top level only, which the original passes over.  One of them is ``shapes``: a list like
``measurements`` whose names tell shapes apart (`flexnet.cost.shape_names`) and whose records may say more, such as the
spread.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import orjson

from flexnet.cost.table import CostTable, Entry, config_text, held_seconds
from flexnet.errors import FlexNetError
from flexnet.files import read_regular, write_atomically
from flexnet.units import s_to_ms

__all__ = ["read_measurement", "read_with_details", "write_measurement"]

_OWN_KEYS = ("batch_size", "ngpus", "measurements")
_RESERVED = (*_OWN_KEYS, "estimated", "shapes")
_RECORD_KEYS = ("name", "pc_str", "fw_time", "bw_time", "mem_req")
_CONFIG = re.compile(r"[1-9][0-9]{0,8}(?:-[1-9][0-9]{0,8})+", re.ASCII)  # nine digits: fits the original's int
_MAX_MS = float(np.finfo(np.float32).max)
_IMPLAUSIBLE_MS = 3_600_000.0
_MAX_COUNT = 2**31 - 1  # the original's int
_MAX_BYTES = 2**63 - 1
_SHOWN = 60  # characters of a bad value that an error repeats


def read_measurement(
    path: str | Path, *, batch_size: int | None = None, n_server: int | None = None, big_gpu: int | None = None
) -> CostTable:
    """Read a measurement file.

    Parameters
    ----------
    path : str or Path
        The file (``--mfile``).
    batch_size, n_server, big_gpu : int, optional
        What the run uses; the file must have been measured with the same. None accepts any; the original's files do
        not tell the GPUs of a server.

    Returns
    -------
    CostTable
        Times in seconds: the file's milliseconds as float32, then double, as the original holds them.

    Raises
    ------
    FlexNetError
        If the file cannot be read, is malformed, or was measured for another batch size or other servers.
    """
    path = Path(path)
    return _table_of(_load(path), path.name, batch_size, n_server, big_gpu)


def read_with_details(path: str | Path) -> tuple[CostTable, dict[tuple[str, tuple[int, ...]], dict[str, Any]]]:
    """Read a measurement file, and what it says of a shape name and config beside times and memory, as their spread.

    Raises
    ------
    FlexNetError
        As of `read_measurement`.
    """
    document = _load(Path(path))
    table = _table_of(document, Path(path).name)
    details = {
        (record["name"], tuple(map(int, record["pc_str"].split("-")[1:]))): {
            key: value for key, value in record.items() if key not in _RECORD_KEYS
        }
        for record in document.get("shapes", ())
    }
    return table, details


def write_measurement(
    path: str | Path,
    table: CostTable,
    *,
    provenance: Mapping[str, object] | None = None,
    details: Mapping[tuple[str, tuple[int, ...]], Mapping[str, object]] | None = None,
) -> None:
    """Write a cost table as a measurement file, whole or not at all.

    Parameters
    ----------
    path : str or Path
        Where to; an existing file is replaced.
    table : CostTable
        Its provenance, and ``"estimated": true`` if its times are not measured, become top-level keys.
    provenance : Mapping[str, object], optional
        More top-level keys; values must be what JSON can hold.
    details : Mapping, optional
        More keys for the record of a shape name and config.

    Raises
    ------
    FlexNetError
        If the file cannot be written, or a time is negative or not a number.

    Notes
    -----
    Times are the shortest decimals that read back as the same float32 (the original writes six digits), so a
    table that was read is written back to the last bit.
    """
    records = [_record(key, entry, table.source) for key, found in table.entries.items() for entry in found]
    shapes = [
        {**_record(name, entry, table.source), **(details or {}).get((name, entry.degrees), {})}
        for name, found in table.shapes.items()
        for entry in found
    ]
    document: dict[str, object] = {
        "batch_size": table.batch_size,
        "ngpus": table.n_server,
        "measurements": records,
        **({"estimated": True} if table.estimated else {}),
        **{k: v for k, v in {**table.provenance, **(provenance or {})}.items() if k not in _RESERVED},
        **({"shapes": shapes} if shapes else {}),
    }
    try:
        text = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError as error:
        raise FlexNetError(f"the provenance of {path} cannot be written as JSON: {error}") from None
    write_atomically(path, text)


def _table_of(
    document: dict[str, Any],
    source: str,
    batch_size: int | None = None,
    n_server: int | None = None,
    big_gpu: int | None = None,
) -> CostTable:
    missing = [key for key in _OWN_KEYS if key not in document]
    if missing:
        raise FlexNetError(
            f"{source} is not a measurement file: it lacks {', '.join(missing)}; make one with flexnet profile"
        )
    measured_batch = _count(document["batch_size"], f"{source}: batch_size")
    measured_servers = _count(document["ngpus"], f"{source}: ngpus")
    if batch_size is not None and measured_batch != batch_size:
        raise FlexNetError(f"{source} was measured at batch size {measured_batch}; --batch-size is {batch_size}")
    if n_server is not None and measured_servers != n_server:
        raise FlexNetError(f"{source} was measured for {measured_servers} servers; --nsimnode is {n_server}")
    measured_gpus = document.get("big_gpu")
    if big_gpu is not None and isinstance(measured_gpus, int) and max(measured_gpus, 1) != max(big_gpu, 1):
        raise FlexNetError(f"{source} was measured with --big-gpu {measured_gpus}; --big-gpu is {big_gpu}")
    records = document["measurements"]
    if not isinstance(records, list):
        raise FlexNetError(f"{source}: measurements is {_shown(records)}; it must be a list")
    if not records:
        raise FlexNetError(f"{source}: measurements is empty; make the file again with flexnet profile")
    shapes = document.get("shapes", [])
    if not isinstance(shapes, list):
        raise FlexNetError(f"{source}: shapes is {_shown(shapes)}; it must be a list")
    estimated = document.get("estimated", False)
    if not isinstance(estimated, bool):
        raise FlexNetError(f"{source}: estimated is {_shown(estimated)}; it must be true or false")
    return CostTable(
        measured_batch,
        measured_servers,
        _table(records, f"{source}: measurement"),
        estimated,
        source,
        MappingProxyType({key: value for key, value in document.items() if key not in _RESERVED}),
        _table(shapes, f"{source}: shape"),
    )


def _table(records: list[Any], where: str) -> MappingProxyType[str, tuple[Entry, ...]]:
    entries: dict[str, list[Entry]] = {}
    for i, record in enumerate(records):
        key, entry = _entry(record, f"{where} {i}")
        entries.setdefault(key, []).append(entry)
    return MappingProxyType({key: tuple(found) for key, found in entries.items()})


def _load(path: Path) -> dict[str, Any]:
    try:
        data = read_regular(path)
    except FileNotFoundError:
        raise FlexNetError(f"measurement file {path} does not exist; make one with flexnet profile") from None
    except IsADirectoryError:
        raise FlexNetError(f"measurement file {path} is a directory; --mfile takes a JSON file") from None
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        reason = getattr(error, "strerror", None) or error
        raise FlexNetError(f"measurement file {str(path)!r} cannot be read: {reason}") from None
    try:
        document = orjson.loads(data)
    except (orjson.JSONDecodeError, RecursionError) as error:
        raise FlexNetError(f"measurement file {path} is not valid JSON: {error}") from None
    if not isinstance(document, dict):
        raise FlexNetError(
            f"{path.name} is not a measurement file: it holds {_shown(document)}; "
            "it must be an object with batch_size, ngpus and measurements"
        )
    return document


def _entry(record: object, where: str) -> tuple[str, Entry]:
    if not isinstance(record, dict):
        raise FlexNetError(f"{where} is {_shown(record)}; it must be an object")
    for key in _RECORD_KEYS:
        if key not in record:
            named = f" ({_shown(record['name'])})" if "name" in record else ""
            raise FlexNetError(f"{where}{named} lacks {key}")
    name, config = record["name"], record["pc_str"]
    if not isinstance(name, str) or not name:
        raise FlexNetError(f"{where}: name is {_shown(name)}; it must be a measurement name such as Dense_64_8")
    where = f"{where} ({_shown(name)}"
    if not isinstance(config, str) or not _CONFIG.fullmatch(config):
        raise FlexNetError(
            f"{where}): pc_str is {_shown(config)}; it must be <rank>-<degree>-...-<batch degree>, such as 2-1-16"
        )
    rank, *degrees = map(int, config.split("-"))
    if rank != len(degrees):
        raise FlexNetError(f"{where}): pc_str {_shown(config)} says rank {rank} and has {len(degrees)} degrees")
    where = f"{where} {config})" if len(config) <= _SHOWN else f"{where})"
    forward = _milliseconds(record["fw_time"], f"{where}: fw_time")
    backward = _milliseconds(record["bw_time"], f"{where}: bw_time")
    memory = record["mem_req"]
    if not isinstance(memory, int) or isinstance(memory, bool) or not 0 <= memory <= _MAX_BYTES:
        raise FlexNetError(f"{where}: mem_req is {_shown(memory)}; it must be a whole number of bytes, 0 or more")
    return name, Entry(tuple(degrees), held_seconds(forward), held_seconds(backward), memory)


def _milliseconds(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FlexNetError(f"{where} is {_shown(value)}; it must be a number of milliseconds")
    if value < 0:  # the original's Linear and Concat write -1 when their scratch memory runs out
        raise FlexNetError(f"{where} is {_shown(value)} ms; a time cannot be negative, so profile this operator again")
    if not value <= _MAX_MS:
        raise FlexNetError(f"{where} is {_shown(value)} ms; it must be a finite number that float32 can hold")
    if value >= _IMPLAUSIBLE_MS:
        raise FlexNetError(f"{where} is {_shown(value)} ms, an hour or more; a pass of one operator takes less")
    return float(value)


def _count(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MAX_COUNT:
        raise FlexNetError(f"{where} is {_shown(value)}; it must be a whole number from 1 to {_MAX_COUNT}")
    return value


def _record(key: str, entry: Entry, source: str) -> dict[str, object]:
    return {
        "name": key,
        "pc_str": config_text(entry.degrees),
        "fw_time": _written_ms(entry.forward, f"{source}: forward time of {key} {config_text(entry.degrees)}"),
        "bw_time": _written_ms(entry.backward, f"{source}: backward time of {key} {config_text(entry.degrees)}"),
        "mem_req": entry.memory,
    }


def _written_ms(seconds: float, where: str) -> float:
    ms = s_to_ms(seconds)
    if not 0 <= ms <= _MAX_MS:
        raise FlexNetError(f"{where} is {ms} ms; a measurement file holds finite times of 0 or more")
    return float(str(np.float32(ms)))  # shortest decimals of the float32, not the double's seventeen


def _shown(value: object) -> str:
    """A value as an error repeats it: short, on one line, and never deep."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = {None: "null", True: "true", False: "false"}.get(value) if value is None or isinstance(value, bool) else None
    text = text or (value if isinstance(value, str) and value.isprintable() and value else ascii(value))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
