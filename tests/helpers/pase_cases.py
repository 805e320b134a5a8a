"""Cases of PaSE's graphs as the recorded results name them."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from flexnet.exact.pase import PaseProblem, flop_per_word, pase_problem
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType
from flexnet.model.zoo.pase import GRAPHS


@cache
def recorded(data: Path, name: str) -> Any:
    return orjson.loads((data / "pase" / f"{name}.json").read_bytes())


def problem_of(inputs: Mapping[str, Any], *, overwrite: bool = True) -> PaseProblem:
    spec = GRAPHS[inputs["graph"]]
    ratio = flop_per_word(inputs["flops"] * 1e12, inputs["bw"] * 1e9)
    return pase_problem(spec.build(inputs["batch"]), inputs["p"], ratio, spec.cutoff, overwrite=overwrite)


def choices_of(problem: PaseProblem, config: Sequence[Sequence[int]]) -> list[int]:
    """Choices with these configurations."""
    pairs = zip(problem.configs, config, strict=True)
    return [int(np.flatnonzero((configs == np.array(wanted)).all(axis=1))[0]) for configs, wanted in pairs]


def diamond() -> ModelGraph:
    """The graph that PaSE's second algorithm gets wrong."""
    b = GraphBuilder("diamond", 8)
    x = b.dense(b.input(16), 16)
    b.cross_entropy(b.binary(OpType.ADD, b.dense(x, 32), b.dense(x, 32)))
    return b.build()
