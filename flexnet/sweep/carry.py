"""Plans carried from points with less to points with more, whose own searches found nothing as fast."""

from collections.abc import Iterator, Mapping
from typing import Any

from flexnet.sweep.store import key_of

__all__ = ["MORE", "faster_with_less"]

MORE = ("bandwidth", "degree")
"""Of what more can be no harm: a plan for less of it can be run with more."""

AS_FAST = 1e-3  # a time that differs by a smaller share is the same


def faster_with_less(points: Mapping[str, Mapping[str, Any]], times: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """Points that take longer than others with less bandwidth or fewer interfaces, and the fastest of those.

    Those with less come first.

    Parameters
    ----------
    points : mapping of str to dict
        All that decides each point, by key; those that differ in `MORE` alone are compared.
    times : mapping of str to float
        Iteration times of those that have one, by key.

    Examples
    --------
    >>> points = {name: {"bandwidth": 10.0 * at, "degree": 4} for at, name in enumerate("abcd", 1)}
    >>> list(faster_with_less(points, {"a": 5.0, "b": 3.0, "c": 4.0, "d": 4.5}))
    [('c', 'b'), ('d', 'b')]
    """
    alike: dict[str, list[str]] = {}
    for key in times:
        rest = {name: value for name, value in points[key].items() if name not in MORE}
        alike.setdefault(key_of(rest), []).append(key)
    for keys in alike.values():
        keys.sort(key=lambda key: _amounts(points[key]))
        for key in keys:
            less = [other for other in keys if other != key and _has_less(points[other], points[key])]
            best = min(less, key=lambda other: times[other], default=key)
            if times[key] > times[best] * (1 + AS_FAST):
                yield key, best


def _amounts(point: Mapping[str, Any]) -> tuple[float, ...]:
    return tuple(point[name] for name in MORE)


def _has_less(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(a <= b for a, b in zip(_amounts(one), _amounts(other), strict=True))
