"""Files a user names, read and written: only regular files are read, what is written is there whole or not at all."""

import errno
import glob
import hashlib
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from flexnet.errors import FlexNetError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "check_writable",
    "make_directory",
    "printable",
    "read_object",
    "read_regular",
    "sha256_of",
    "write_atomically",
]


OLD_S = 60.0  # nothing is written for longer: a process on another machine has numbers of its own


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


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's contents, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


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


def write_atomically(path: str | Path, data: "bytes | npt.NDArray[np.uint8]") -> None:
    """Write a file under another name beside its place, then move it there.

    What was there before stays until the new contents are complete; a link is followed, and a device or pipe
    (``/dev/null``) is written to, not replaced.

    Parameters
    ----------
    path : str or Path
    data : bytes or uint8 (n_byte,)

    Raises
    ------
    FlexNetError
        If the directory is missing or not writable, the disk full, the name impossible.
    """
    target = Path(path)
    part: Path | None = None
    bytes_ = data if isinstance(data, bytes) else data.data
    try:
        target = Path(os.path.realpath(target))
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(bytes_)
            return
        _remove_old_parts(target)
        part = target.with_name(f".{target.name[:200]}.{os.getpid()}.part")
        with part.open("wb") as file:
            file.write(bytes_)
        part.replace(target)
    except (OSError, ValueError) as error:
        if part is not None:
            part.unlink(missing_ok=True)
        reason = getattr(error, "strerror", None) or str(error)
        raise FlexNetError(f"cannot write {path}: {reason}") from None
    except BaseException:
        if part is not None:
            part.unlink(missing_ok=True)
        raise


def _remove_old_parts(target: Path) -> None:
    """Remove what writers of a file that were killed have left: no process has the number in its name any more."""
    for part in target.parent.glob(f".{glob.escape(target.name[:200])}.*.part"):
        number = part.name.split(".")[-2]
        try:
            if number.isdigit() and time.time() - part.stat().st_mtime > OLD_S and not _runs(int(number)):
                part.unlink()
        except OSError:  # another writer was faster, or it is not ours to remove
            continue


def _runs(number: int) -> bool:
    """Whether there is a process of this number."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except OverflowError:
        return False
    except OSError:  # somebody else's
        return True
    return True


def check_writable(path: Path) -> None:
    """Refuse a file that could not be written.

    Raises
    ------
    FlexNetError
        If it is a directory, or its directory is missing or not writable.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise FlexNetError(f"cannot write {path}: it is a directory; name a file")
    try:
        if target.exists() and not target.is_file():
            if not os.access(target, os.W_OK):
                raise PermissionError(None, "Permission denied")
            return
        if not target.parent.is_dir():
            raise FlexNetError(f"cannot write {path}: there is no directory {target.parent}")
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise FlexNetError(f"cannot write {path}: {error.strerror or error}") from None


def make_directory(path: Path) -> None:
    """Make a directory, and those above it, if they are not there.

    Raises
    ------
    FlexNetError
        If it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FlexNetError(f"cannot make directory {path}: {error.strerror or error}") from None


def printable(word: str) -> str:
    r"""Text that JSON can hold: bytes of a file name that are no text become escapes.

    >>> printable("plan"), printable("\udcff")
    ('plan', '\\udcff')
    """
    return word.encode("utf-8", "backslashreplace").decode()
