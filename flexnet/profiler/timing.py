"""How often a pass is repeated and what its time then is; nothing here knows PyTorch."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

__all__ = ["TARGET", "Timing", "measure"]

TARGET = 0.02  # spread at which repeating ends
LEAST = 5  # repeats
FEWEST = 3  # repeats of passes that alone take longer than the cap, unless one takes ten times as long
MOST = 400


@dataclass(frozen=True, slots=True)
class Timing:
    """What repeats of one pass came to.

    Parameters
    ----------
    seconds : float
        Median.
    spread : float or None
        Half the width of the median's 95 % interval as a share of it: 1.57 IQR / sqrt(n) / median, the notch of a
        box plot (McGill, Tukey and Larsen 1978); None of a single repeat. It shrinks with repeats, where the
        quartiles do not.
    repeats : int
    """

    seconds: float
    spread: float | None
    repeats: int


def measure(sample: Callable[[int], list[float]], cap: float, *, target: float = TARGET) -> Timing:
    """Repeat until the spread is below ``target`` or ``cap`` seconds have gone by, whichever is first.

    Parameters
    ----------
    sample : callable
        Runs the pass so many times and returns the seconds of each.
    cap : float
        Seconds, the clock on the wall; a pass that takes longer is still run three times, or for ten times this long.
    target : float

    Examples
    --------
    >>> measure(lambda n: [0.25] * n, cap=1.0)
    Timing(seconds=0.25, spread=0.0, repeats=6)
    """
    start = time.perf_counter()
    seconds: list[float] = []
    while True:
        elapsed = time.perf_counter() - start
        if len(seconds) >= FEWEST or (seconds and elapsed >= 10 * cap):
            timing = _summary(seconds)
            settled = timing.repeats >= LEAST and timing.spread is not None and timing.spread <= target
            if settled or elapsed >= cap or timing.repeats >= MOST:
                return timing
        per_repeat = elapsed / len(seconds) if seconds else 0.0
        left = max(cap - elapsed, 0.0)
        n = LEAST if per_repeat * LEAST <= left and seconds else 1
        seconds += sample(max(n, min(len(seconds) // 2, int(left / per_repeat) if per_repeat else 0)))


def _summary(seconds: list[float]) -> Timing:
    if len(seconds) == 1:
        return Timing(seconds[0], None, 1)
    low, median, high = np.percentile(seconds, [25, 50, 75])
    spread = 1.57 * (high - low) / len(seconds) ** 0.5 / median if median > 0 else 0.0
    return Timing(float(median), float(spread), len(seconds))
