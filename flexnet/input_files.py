"""Reads files a user names: a pipe or a device may never end, so only regular files are read."""

import errno
from pathlib import Path
from typing import Any

import orjson

from flexnet.errors import FlexNetError

__all__ = ["read_object", "read_regular"]


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


def read_object(path: Path, what: str = "") -> dict[str, Any]:
    """The JSON object in a regular file.

    Parameters
    ----------
    path : Path
    what : str
        What the file is, for errors.

    Raises
    ------
    FlexNetError
        If it cannot be read or holds anything else.
    """
    name = f"{what} {path}".lstrip()
    try:
        found = orjson.loads(read_regular(path))
    except OSError as error:
        raise FlexNetError(f"cannot read {name}: {error.strerror or error}") from None
    except orjson.JSONDecodeError as error:
        raise FlexNetError(f"{name} is not valid JSON: {error}") from None
    if not isinstance(found, dict):
        raise FlexNetError(f"{name} must be a JSON object")
    return found
