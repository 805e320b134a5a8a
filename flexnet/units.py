"""Conversions at the border: outside Gbps, microseconds, milliseconds and text; inside bytes/s and seconds."""

__all__ = [
    "TOLD_RATIO",
    "bytes_per_s_to_gbps",
    "bytes_text",
    "duration_text",
    "gbps_to_bytes_per_s",
    "ms_text",
    "ms_to_s",
    "rate_text",
    "s_to_ms",
    "s_to_us",
    "us_to_s",
]

TOLD_RATIO = 1.005
"""Of two times; those that are nearer are told as the same."""


def gbps_to_bytes_per_s(gbps: float) -> float:
    """Gigabits per second to bytes per second.

    >>> gbps_to_bytes_per_s(100)
    12500000000.0
    """
    return gbps * 1e9 / 8


def bytes_per_s_to_gbps(bytes_per_s: float) -> float:
    """Bytes per second to gigabits per second.

    >>> bytes_per_s_to_gbps(12.5e9)
    100.0
    """
    return bytes_per_s * 8e-9


def us_to_s(us: float) -> float:
    """Microseconds to seconds, as of a latency."""
    return us * 1e-6


def s_to_us(seconds: float) -> float:
    """Seconds to microseconds."""
    return seconds * 1e6


def ms_to_s(ms: float) -> float:
    """Milliseconds to seconds."""
    return ms * 1e-3


def s_to_ms(seconds: float) -> float:
    """Seconds to milliseconds."""
    return seconds * 1e3


def ms_text(seconds: float) -> str:
    """A time as people read it.

    >>> ms_text(0.0186), ms_text(0.000123456)
    ('18.60 ms', '0.123 ms')
    """
    ms = s_to_ms(seconds)
    return f"{ms:.2f} ms" if ms >= 1 else f"{ms:#.3g} ms"


def bytes_text(n: float) -> str:
    """A number of bytes as people read it.

    >>> bytes_text(1.5e9), bytes_text(12)
    ('1.50 GB', '12 bytes')
    """
    for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n >= scale:
            return f"{n / scale:.2f} {unit}"
    return f"{n:.0f} bytes"


def rate_text(per_s: float) -> str:
    """So many in a second; two digits of what is seldom.

    >>> rate_text(2403.9), rate_text(12.0), rate_text(3.04), rate_text(0.748)
    ('2404', '12', '3', '0.75')
    """
    return f"{per_s:.0f}" if per_s >= 10 else f"{per_s:.2g}"


def duration_text(seconds: float) -> str:
    """A duration as people say it.

    >>> duration_text(3.21), duration_text(75), duration_text(7322)
    ('3.2 s', '1 min 15 s', '2 h 02 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"
    if seconds < float("inf"):
        return f"{int(seconds) // 3600} h {int(seconds) // 60 % 60:02d} min"
    return "unknown"
