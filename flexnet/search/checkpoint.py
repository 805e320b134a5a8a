"""Saves and restores a search so that it goes on as if it had never stopped: same proposals, same bits."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from flexnet.errors import FlexNetError
from flexnet.files import read_object
from flexnet.network.network import Network
from flexnet.plan.strategy import Strategy
from flexnet.search.candidates import Candidate
from flexnet.search.network_document import network_document, read_network
from flexnet.search.rounds import MOST_ROUNDS, stages_of
from flexnet.search.starts import STARTS
from flexnet.search.state import Schedule, State

__all__ = ["checkpoint_json", "restore"]

VERSION = 12

_PLANS_OF_SCHEDULE = ("pool", "starts", "entrants", "results")
_COUNTS_OF_SCHEDULE = ("round", "stage", "slot", "at", "stale", "held", "recut_round", "left_out")


def checkpoint_json(state: State, rng: np.random.Generator) -> bytes:
    """State and generator as JSON; networks that plans share are stored once."""
    networks: list[Network] = []

    def network_number(network: Network) -> int:
        for i, known in enumerate(networks):
            if known is network:
                return i
        networks.append(network)
        return len(networks) - 1

    def plan(p: Candidate) -> dict[str, Any]:
        return {
            "choice": p.strategy.choice,
            "devices": p.strategy.devices,
            "after": p.strategy.after,
            "network": network_number(p.network),
            "seconds": p.seconds,
            "directions": p.directions,
            "origin": p.origin,
        }

    def schedule(s: Schedule) -> dict[str, Any]:
        return {
            "pending": [strategy._asdict() for strategy in s.pending],
            **{name: [plan(p) for p in getattr(s, name)] for name in _PLANS_OF_SCHEDULE},
            **{name: getattr(s, name) for name in _COUNTS_OF_SCHEDULE},
            "slot_best": None if s.slot_best is None else plan(s.slot_best),
            "before": _finite(s.before),
            "credit": list(s.credit),
            "gains": list(s.gains),
            "origins": list(s.origins),
            "unlaid": list(s.unlaid),
        }

    def chain(state: State, rng: np.random.Generator) -> dict[str, Any]:
        return {
            "iteration": state.iteration,
            "last_reset": state.last_reset,
            "current": plan(state.current),
            "best": plan(state.best),
            "elite": [plan(p) for p in state.elite],
            "led": [plan(p) for p in state.led],
            "chosen": None if state.chosen is None else plan(state.chosen),
            "network": network_number(state.network),
            "topology_current": _finite(state.topology_current),
            "topology_best": _finite(state.topology_best),
            "topology_unchanged": state.topology_unchanged,
            "schedule": None if state.schedule is None else schedule(state.schedule),
            "rng": _rng_state(rng),
            "chains": [chain(*one) for one in state.chains],
        }

    rng = state.chains[0][1] if state.chains else rng  # that of a process, where it is now
    document = {"version": VERSION, **chain(state, rng), "networks": [network_document(n) for n in networks]}
    return orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY)


def restore(path: Path, rng: np.random.Generator) -> State:
    """State from a checkpoint file; sets ``rng`` to where it was.

    Raises
    ------
    FlexNetError
        If the file is missing, damaged or of another version.
    """
    document = read_object(path, "checkpoint")
    if document.get("version") != VERSION:
        raise FlexNetError(f"checkpoint {path} is not one of this version of flexnet (version {VERSION})")
    try:
        networks = [read_network(item) for item in document["networks"]]
        return _state(document, networks, rng)
    except (AttributeError, KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise FlexNetError(f"checkpoint {path} is damaged: {error}") from error


def _state(document: Mapping[str, Any], networks: list[Network], rng: np.random.Generator) -> State:
    """A state, with those of its chains; sets ``rng`` to where it was."""
    rng.bit_generator.state = _rng_from(document["rng"])
    chains: list[tuple[State, np.random.Generator]] = []
    for item in document["chains"]:
        own = np.random.default_rng(0) if chains else rng  # the first chain goes on with the search's own generator
        chains.append((_state(item, networks, own), own))
    return State(
        document["iteration"],
        document["last_reset"],
        _plan(document["current"], networks),
        _plan(document["best"], networks),
        networks[document["network"]],
        _infinite(document["topology_current"]),
        _infinite(document["topology_best"]),
        document["topology_unchanged"],
        tuple(_plan(item, networks) for item in document["elite"]),
        tuple(_plan(item, networks) for item in document["led"]),
        None if document["chosen"] is None else _plan(document["chosen"], networks),
        None if document["schedule"] is None else _schedule(document["schedule"], networks),
        tuple(chains),
    )


def _schedule(document: Mapping[str, Any], networks: list[Network]) -> Schedule:
    if any(not isinstance(document[name], int) or document[name] < 0 for name in _COUNTS_OF_SCHEDULE):
        raise ValueError("a schedule counts with whole numbers from 0")
    plans = {name: tuple(_plan(item, networks) for item in document[name]) for name in _PLANS_OF_SCHEDULE}
    counts = {name: document[name] for name in _COUNTS_OF_SCHEDULE}
    begun = bool(plans["entrants"])
    if (
        not plans["pool"]
        or not plans["starts"]
        or counts["round"] > MOST_ROUNDS
        or max(counts["recut_round"], counts["left_out"]) > counts["round"]
        or counts["stage"] >= (len(stages_of(counts["round"])) if begun else 1)
        or counts["slot"] >= (len(plans["entrants"]) if begun else 1)
        or (counts["at"] > 0) != (document["slot_best"] is not None)
    ):
        raise ValueError("a schedule that no search comes to")
    return Schedule(
        pending=tuple(map(_strategy, document["pending"])),
        pool=plans["pool"],
        starts=plans["starts"],
        entrants=plans["entrants"],
        results=plans["results"],
        round=counts["round"],
        stage=counts["stage"],
        slot=counts["slot"],
        at=counts["at"],
        stale=counts["stale"],
        held=counts["held"],
        recut_round=counts["recut_round"],
        left_out=counts["left_out"],
        slot_best=None if document["slot_best"] is None else _plan(document["slot_best"], networks),
        before=_infinite(document["before"]),
        credit=tuple(map(_time, document["credit"])),
        gains=(_share(document["gains"][0]), _share(document["gains"][1])),
        origins=tuple(map(_name, document["origins"])),
        unlaid=tuple(map(_kind, document["unlaid"])),
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _infinite(value: float | None) -> float:
    return float("inf") if value is None else _time(value)


def _time(value: object) -> float:
    if not isinstance(value, float):
        raise ValueError(f"{value!r} is not a time")
    return value


def _share(value: object) -> float:
    if not (isinstance(value, float) and 0 < value <= 1):
        raise ValueError(f"{value!r} is not a share of proposals")
    return value


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not the name of a start")
    return value


def _kind(value: object) -> str:
    if value not in STARTS:
        raise ValueError(f"{value!r} is no kind of start")
    return str(value)


def _rng_state(rng: np.random.Generator) -> dict[str, Any]:
    """The generator's state with its 128-bit integers as text, which JSON cannot hold as numbers."""
    state = dict(rng.bit_generator.state)
    state["state"] = {key: str(value) for key, value in state["state"].items()}
    return state


def _rng_from(document: Mapping[str, Any]) -> dict[str, Any]:
    return {**document, "state": {key: int(value) for key, value in document["state"].items()}}


def _plan(document: Mapping[str, Any], networks: list[Network]) -> Candidate:
    directions = None if document["directions"] is None else np.array(document["directions"], np.int8)
    if directions is not None and not np.isin(directions, (-1, 1)).all():
        raise ValueError("ring directions other than 1 and -1")
    seconds, origin = _time(document["seconds"]), _name(document["origin"])
    return Candidate(_strategy(document), networks[document["network"]], seconds, directions, origin)


def _strategy(document: Mapping[str, Any]) -> Strategy:
    return Strategy(*(np.array(document[name], np.int64) for name in Strategy._fields))
