"""Conversions at the border: outside Gbps, microseconds, milliseconds; inside bytes/s and seconds."""

__all__ = ["gbps_to_bytes_per_s", "ms_to_s", "s_to_ms", "us_to_s"]


def gbps_to_bytes_per_s(gbps: float) -> float:
    """Gigabits per second to bytes per second.

    >>> gbps_to_bytes_per_s(100)
    12500000000.0
    """
    return gbps * 1e9 / 8


def us_to_s(us: float) -> float:
    """Microseconds to seconds."""
    return us * 1e-6


def ms_to_s(ms: float) -> float:
    """Milliseconds to seconds."""
    return ms * 1e-3


def s_to_ms(seconds: float) -> float:
    """Seconds to milliseconds."""
    return seconds * 1e3
