"""The strategy behind a task graph: which config of every operator gives just these compute tasks."""

import numpy as np
import numpy.typing as npt

from flexnet.errors import FlexNetError
from flexnet.plan.problem import Problem
from flexnet.plan.strategy import Config
from flexnet.plan.task_graph import TaskGraph
from flexnet.plan.task_kinds import BACKWARD, FORWARD

__all__ = ["recover_strategy"]


def recover_strategy(problem: Problem, graph: TaskGraph) -> list[Config]:
    """Configs of all operators, recovered from the run times and servers of a task graph's compute tasks.

    Parts stand in the graph operator by operator, forward then backward (simulator.cc:801), so every operator
    takes the candidate whose run times equal, to float32, those of the next tasks.

    Raises
    ------
    FlexNetError
        If no candidates give these run times: the graph was not made from this model and measurement.
    """
    compute = np.flatnonzero((graph.kind == FORWARD) | (graph.kind == BACKWARD))
    pairs = compute[: len(compute) // 2 * 2].reshape(-1, 2)
    if len(compute) % 2 or (graph.kind[pairs] != [FORWARD, BACKWARD]).any():
        raise FlexNetError("the compute tasks of the graph do not come in pairs of forward and backward")
    run = _float32_ms(graph.seconds[pairs])
    arrays = problem.arrays
    forward, backward = _float32_ms(arrays.forward), _float32_ms(arrays.backward)

    dead: set[tuple[int, int]] = set()  # (operator, first part) that no configs continue from

    def fits(op: int, choice: int, at: int) -> bool:
        candidate = arrays.candidate_ptr[op] + choice
        part = run[at : at + arrays.parts[candidate]]
        whole = len(part) == arrays.parts[candidate] and (op + 1, at + len(part)) not in dead
        return bool(whole and (part == [forward[candidate], backward[candidate]]).all())

    n_op = len(problem.graph.operators)
    chosen: list[int] = []
    starts = [0]
    tried = [0]
    while len(chosen) < n_op:
        op = len(chosen)
        options = range(tried[-1], len(problem.candidates[op]))
        choice = next((c for c in options if fits(op, c, starts[-1])), None)
        if choice is None or (op == n_op - 1 and starts[-1] + _parts(problem, op, choice) != len(pairs)):
            if choice is not None:
                tried[-1] = choice + 1
                continue
            if not chosen:
                name = problem.graph.operators[op].name
                raise FlexNetError(
                    f"the run times of the graph are not those of {problem.table.source} (from {name} on)"
                )
            dead.add((op, starts[-1]))
            tried.pop()
            starts.pop()
            tried[-1] = chosen.pop() + 1
            continue
        chosen.append(choice)
        starts.append(starts[-1] + _parts(problem, op, choice))
        tried.append(0)
    servers = graph.place[pairs[:, 0]]
    return [
        Config(
            problem.candidates[op][choice].degrees,
            tuple(int(s) for s in servers[starts[op] : starts[op + 1]]),
        )
        for op, choice in enumerate(chosen)
    ]


def _parts(problem: Problem, op: int, choice: int) -> int:
    return int(problem.arrays.parts[problem.arrays.candidate_ptr[op] + choice])


def _float32_ms(seconds: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    return (seconds * 1e3).astype(np.float32)
