"""The libraries that reports need and searches do not."""

from importlib.util import find_spec

from flexnet.errors import FlexNetError, one_of

__all__ = ["check_extra", "missing_libraries"]

_LIBRARIES = ("matplotlib", "jinja2")


def missing_libraries() -> tuple[str, ...]:
    """Those of the extra ``report`` that are not installed."""
    return tuple(name for name in _LIBRARIES if find_spec(name) is None)


def check_extra() -> None:
    """Refuse to make a report without the libraries it takes.

    Raises
    ------
    FlexNetError
        Naming those that are missing and the extra that brings them.
    """
    missing = missing_libraries()
    if missing:
        names = one_of(missing).replace(" or ", " and ")
        raise FlexNetError(f"reports need {names}, which the extra report installs: pip install 'flexnet[report]'")
