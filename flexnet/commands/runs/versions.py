"""When a file was written, and by which versions."""

import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

__all__ = ["installed_version", "now", "today", "versions"]


def versions() -> dict[str, str]:
    """Versions of flexnet, Python and what decides results to the last bit."""
    return {
        "flexnet": installed_version("flexnet"),
        "python": platform.python_version(),
        "numpy": installed_version("numpy"),
        "numba": installed_version("numba"),
    }


def installed_version(package: str) -> str:
    """Version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown (not installed)"


def today() -> str:
    """The date, as ISO 8601 has it."""
    return datetime.now(UTC).date().isoformat()


def now() -> str:
    """Date and time to the second, as ISO 8601 has it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
