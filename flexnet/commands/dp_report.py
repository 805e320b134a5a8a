"""What ``flexnet dp`` tells of an optimum: text, JSON and a graph for Graphviz."""

from math import prod
from typing import Any

import numpy as np

from flexnet.commands.requests.dp import DpRequest
from flexnet.exact.baseline import data_parallel
from flexnet.exact.pase import WORD_BYTES, PaseProblem, flop_per_word
from flexnet.exact.solver import Solution
from flexnet.exact.tables import evaluate
from flexnet.model.operators import type_name

__all__ = ["dot_text", "json_document", "text_lines"]


def text_lines(request: DpRequest, problem: PaseProblem, solution: Solution, seconds: float) -> list[str]:
    """One line for every operator, then what was found."""
    names = [f"{op.index} {type_name(op)}" for op in problem.graph.operators]
    width = max(map(len, names))
    costs = [float(table[choice]) for table, choice in zip(problem.tables.vertices, solution.choices, strict=True)]
    lines = [
        f"{name:<{width}}  {_config(problem, solution, v)!s:<28} of {_cut_text(problem, solution, v):<44} "
        f"{costs[v]:.6g}"
        for v, name in enumerate(names)
    ]
    order = solution.order
    parallel = evaluate(problem.tables, data_parallel(problem))
    n_config = [len(configs) for configs in problem.configs]
    lines += [
        f"graph      {problem.graph.name}: {len(names)} operators, {len(problem.tables.edges)} edges, "
        f"{sum(n_config)} configurations, at most {max(n_config)} of one operator",
        f"tables     largest kept {order.largest_kept} cells, largest joined {order.peak}, all joined {order.work}; "
        f"{solution.bytes / 1e6:.3g} MB in all; {order.rule} order",
        f"time       {seconds:.3f} s, graph and cost tables included",
        f"compared   data parallelism costs {parallel:.6g}, {parallel / solution.cost:.2f} times as much",
        f"total cost {_exact(solution.cost)} FLOP, {solution.cost / request.flops * 1e3:.6g} ms a step",
    ]
    return lines


def json_document(
    request: DpRequest, problem: PaseProblem, solution: Solution, seconds: float, typed: list[str]
) -> bytes:
    """Cost and configuration of every operator, and every input."""
    import orjson  # these, and what they import, take as long as the search itself

    from flexnet.commands.runs.versions import now, versions
    from flexnet.files import printable

    vertices = [
        {
            "index": op.index,
            "name": op.name,
            "type": type_name(op),
            "domain": list(problem.domains[op.index].sizes),
            "config": _config(problem, solution, op.index),
            "cost": float(problem.tables.vertices[op.index][solution.choices[op.index]]),
        }
        for op in problem.graph.operators
    ]
    content: dict[str, Any] = {
        "format": "flexnet-dp",
        "version": 1,
        "graph": problem.graph.name,
        "p": request.n_device,
        "batch_size": problem.graph.batch_size,
        "model": request.model,
        "tflops": request.flops / 1e12,
        "bandwidth_gb_per_s": request.bandwidth / 1e9,
        "pase_compat": request.overwrite,
        "cost": solution.cost,
        "cost_unit": "FLOP",
        "step_ms": solution.cost / request.flops * 1e3,
        "data_parallel_cost": evaluate(problem.tables, data_parallel(problem)),
        "config": [vertex["config"] for vertex in vertices],
        "vertices": vertices,
        "edges": [
            {"from": u, "to": v, "cost": float(table[solution.choices[u], solution.choices[v]])}
            for (u, v), table in problem.tables.edges.items()
        ],
        "search_s": seconds,
        "table_bytes": solution.bytes,
        "order": solution.order.rule,
        "command_line": [printable(word) for word in typed],
        "written": now(),
        "versions": versions(),
    }
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def dot_text(request: DpRequest, problem: PaseProblem, solution: Solution) -> str:
    """Operators with domain, configuration and cost; edges with the bytes of the tensors and those that move."""
    ratio = flop_per_word(request.flops, request.bandwidth)
    size: dict[tuple[int, int], int] = {}
    for op in problem.graph.operators:
        for source in op.inputs:
            if source.op is not None:
                ends = (source.op, op.index)
                size[ends] = WORD_BYTES * source.tensor.volume + (0 if request.overwrite else size.get(ends, 0))
    lines = [f"digraph {problem.graph.name} {{", "  node [shape=box];"]
    for op in problem.graph.operators:
        cost = float(problem.tables.vertices[op.index][solution.choices[op.index]])
        cut = _cut_text(problem, solution, op.index)
        parts = prod(_config(problem, solution, op.index))
        label = f"{op.index} {type_name(op)}\\n{cut}\\n{parts} parts, cost {cost:.4g} FLOP"
        lines.append(f'  {op.index} [label="{label}"];')
    for (u, v), table in problem.tables.edges.items():
        moved = float(table[solution.choices[u], solution.choices[v]]) / ratio * WORD_BYTES
        label = f"{_bytes(size[u, v])}, {_bytes(moved)} moved"
        lines.append(f'  {u} -> {v} [label="{label}"];')
    return "\n".join([*lines, "}", ""])


def _config(problem: PaseProblem, solution: Solution, v: int) -> list[int]:
    return [int(parts) for parts in problem.configs[v][solution.choices[v]]]


def _cut_text(problem: PaseProblem, solution: Solution, v: int) -> str:
    """Sizes of the domain, each with the parts it is cut in."""
    pairs = zip(problem.domains[v].sizes, _config(problem, solution, v), strict=True)
    return " x ".join(f"{size}/{parts}" if parts > 1 else str(size) for size, parts in pairs)


def _exact(cost: float) -> str:
    return str(int(cost)) if np.isfinite(cost) and cost == int(cost) else repr(cost)


def _bytes(count: float) -> str:
    """A number of bytes as people read it.

    >>> _bytes(0.0), _bytes(1.5e6)
    ('0 B', '1.5 MB')
    """
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.4g} {unit}"
    return f"{count:.4g} B"
