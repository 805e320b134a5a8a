"""Where a file came from: versions, hashes, and text that JSON can hold."""

import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["installed_version", "printable", "sha256_of", "versions"]


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


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's contents, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def printable(word: str) -> str:
    r"""Text that JSON can hold: bytes of a file name that are no text become escapes.

    >>> printable("plan"), printable("\udcff")
    ('plan', '\\udcff')
    """
    return word.encode("utf-8", "backslashreplace").decode()
