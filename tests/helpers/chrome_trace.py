"""Whether a trace is legal by the rules of Chrome's trace format that it uses, and what its tracks hold."""

import gzip
from collections import defaultdict
from pathlib import Path
from typing import Any

import orjson

Track = tuple[int, int]
SLACK = 1e-6  # microseconds: sums of numbers with three decimals

_FIELDS = {
    "M": {"ph", "pid", "name", "args"},
    "X": {"ph", "pid", "tid", "name", "cat", "ts", "dur"},
    "s": {"ph", "pid", "tid", "name", "cat", "id", "ts"},
    "f": {"ph", "pid", "tid", "name", "cat", "id", "ts", "bp"},
}
_OPTIONAL = {"M": {"tid"}, "X": {"args", "cname"}, "s": set(), "f": set()}
_COLOURS = {"good", "bad", "terrible", "rail_response", "rail_animation", "rail_load"}  # reserved names it may use
_METADATA = {"process_name": "name", "process_sort_index": "sort_index", "thread_name": "name"}
_METADATA["thread_sort_index"] = "sort_index"


def read_trace(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    document = orjson.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    assert isinstance(document, dict)
    return document


def check_trace(document: dict[str, Any]) -> dict[Track, list[dict[str, Any]]]:
    """Assert that a trace is legal; its slices by track, in order of time."""
    assert set(document) == {"traceEvents", "displayTimeUnit", "otherData"}
    assert document["displayTimeUnit"] in ("ms", "ns")
    named: dict[str, set[Any]] = defaultdict(set)
    tracks: dict[Track, list[dict[str, Any]]] = defaultdict(list)
    starts: dict[Any, dict[str, Any]] = {}
    ends: dict[Any, dict[str, Any]] = {}
    for event in document["traceEvents"]:
        phase = event["ph"]
        assert set(event) >= _FIELDS[phase], event
        assert set(event) <= _FIELDS[phase] | _OPTIONAL[phase], event
        assert type(event["pid"]) is int and type(event.get("tid", 0)) is int
        assert isinstance(event["name"], str) and event["name"]
        if phase == "M":
            key = (event["pid"], event.get("tid"))
            assert key not in named[event["name"]], f"{event['name']} of {key} is given twice"
            assert list(event["args"]) == [_METADATA[event["name"]]]
            named[event["name"]].add(key)
            continue
        assert isinstance(event["ts"], float | int) and event["ts"] >= 0
        assert isinstance(event["cat"], str) and event["cat"]
        if phase == "X":
            assert event["dur"] >= 0
            assert event.get("cname", "good") in _COLOURS
            tracks[event["pid"], event["tid"]].append(event)
        else:
            into = starts if phase == "s" else ends
            assert event["id"] not in into, "a flow has one start and one end"
            into[event["id"]] = event
            assert phase == "s" or event["bp"] == "e"
    for track in {*tracks, *((event["pid"], event["tid"]) for event in (*starts.values(), *ends.values()))}:
        assert track in named["thread_name"] and track in named["thread_sort_index"]
        assert (track[0], None) in named["process_name"] and (track[0], None) in named["process_sort_index"]
    assert set(starts) == set(ends)
    for slices in tracks.values():
        slices.sort(key=lambda event: (event["ts"], -event["dur"]))
        _check_nested(slices)
    for number, start in starts.items():
        assert start["ts"] <= ends[number]["ts"], "a flow starts before it ends"
        for event in (start, ends[number]):
            around = tracks[event["pid"], event["tid"]]
            assert _is_within(event["ts"], around), "a flow is bound to the slice around it"
    return tracks


def top_slices(slices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Slices that lie in no other of their track."""
    found: list[dict[str, Any]] = []
    end = -1.0
    for event in slices:
        if event["ts"] >= end - SLACK or not found:
            found.append(event)
            end = event["ts"] + event["dur"]
    return found


def _check_nested(slices: list[dict[str, Any]]) -> None:
    """Of two slices of a track, one lies in the other or behind it."""
    open_until: list[float] = []
    for event in slices:
        begin, end = event["ts"], event["ts"] + event["dur"]
        while open_until and open_until[-1] <= begin + SLACK:
            open_until.pop()
        assert not open_until or end <= open_until[-1] + SLACK, "slices overlap and do not nest"
        open_until.append(end)


def _is_within(at: float, slices: list[dict[str, Any]]) -> bool:
    low, high = 0, len(slices)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if slices[middle]["ts"] <= at + SLACK else (low, middle)
    return any(event["ts"] + event["dur"] >= at - SLACK for event in slices[max(low - 64, 0) : low])
