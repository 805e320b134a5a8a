"""The libraries that sweeps need and searches do not."""

from importlib.util import find_spec

from flexnet.errors import FlexNetError

__all__ = ["check_extra"]


def check_extra(*names: str) -> None:
    """Refuse to go on without libraries of the extra ``sweep``.

    Raises
    ------
    FlexNetError
        Naming the first that is missing, and the extra that brings it.
    """
    missing = next((name for name in names if find_spec(name) is None), None)
    if missing is not None:
        raise FlexNetError(f"this needs {missing}, which the extra sweep installs: pip install 'flexnet[sweep]'")
