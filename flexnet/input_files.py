"""Reads files a user names: a pipe or a device may never end, so only regular files are read."""

import errno
from pathlib import Path

__all__ = ["read_regular"]


def read_regular(path: Path) -> bytes:
    """Contents of a regular file.

    Raises
    ------
    OSError
        If it cannot be read, or is a directory, a pipe or a device.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(errno.EINVAL, "it is a pipe or a device; a regular file is needed", str(path))
    return path.read_bytes()
