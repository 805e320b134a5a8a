"""Divisors: how a size, a batch or a set of servers falls into equal parts."""

__all__ = ["divisors"]


def divisors(number: int, limit: int) -> list[int]:
    """Divisors of ``number`` up to ``limit``, ascending.

    >>> divisors(12, 6)
    [1, 2, 3, 4, 6]
    """
    return [i for i in range(1, min(number, limit) + 1) if number % i == 0]
