"""Where finished points are kept, each under the hash of all that decides it; and the tables made of them."""

import csv
import hashlib
import io
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from flexnet.errors import FlexNetError, counted
from flexnet.files import make_directory, read_object, read_regular, write_atomically

__all__ = ["PLAN", "Store", "key_of", "read_rows"]

PLAN = "strategy"
"""Under which a row has its plan, a strategy document, which tables leave out."""

Row = dict[str, Any]


def key_of(point: Mapping[str, Any]) -> str:
    """The hash of a point: equal for equal points, whatever the order of their keys.

    >>> key_of({"a": 1, "b": 2.0}) == key_of({"b": 2.0, "a": 1})
    True
    """
    return hashlib.sha256(orjson.dumps(point, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Store:
    """A directory with a file for every finished point.

    Parameters
    ----------
    directory : Path
    """

    directory: Path

    def open(self) -> str:
        """Make the directories, and the file ``token``, by whose content others know that they see this very store.

        Returns
        -------
        str
            The content.

        Raises
        ------
        FlexNetError
            If they cannot be made.
        """
        token = self.directory / "token"
        make_directory(self.points)
        if not token.is_file():
            write_atomically(token, secrets.token_hex(16).encode())
        return read_regular(token).decode()

    @property
    def points(self) -> Path:
        """Where the files of points are."""
        return self.directory / "points"

    def path(self, key: str) -> Path:
        """The file of a point."""
        return self.points / f"{key}.json"

    def has(self, key: str) -> bool:
        """Whether a point is finished."""
        return self.path(key).is_file()

    def put(self, key: str, row: Row) -> None:
        """Keep the row of a finished point.

        Raises
        ------
        FlexNetError
            If it cannot be written.
        """
        write_atomically(self.path(key), orjson.dumps({"point": key, **row}, option=orjson.OPT_INDENT_2))

    def rows(self, keys: Iterable[str]) -> list[Row]:
        """Rows of those points that are finished, in this order.

        Raises
        ------
        FlexNetError
            If a file is damaged.
        """
        return [read_object(self.path(key), "point") for key in keys if self.has(key)]

    def write_tables(self, keys: Iterable[str]) -> list[Path]:
        """Write ``results.parquet`` and ``results.csv``, a row for every finished point; the files written.

        The plans are left out, which rows keep to start others with.

        None if no point is finished.
        """
        rows = self.rows(keys)
        if not rows:
            return []
        columns = list(dict.fromkeys(name for row in rows for name in row if name != PLAN))
        parquet, text = self.directory / "results.parquet", self.directory / "results.csv"
        write_atomically(parquet, _parquet(rows, columns))
        write_atomically(text, _csv(rows, columns))
        return [parquet, text]


def _parquet(rows: list[Row], columns: list[str]) -> bytes:
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.Table.from_pydict({name: [_cell(row.get(name)) for row in rows] for name in columns})
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    return sink.getvalue()


def _csv(rows: list[Row], columns: list[str]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        cells = [_cell(row.get(name)) for name in columns]
        writer.writerow(
            "" if cell is None else orjson.dumps(cell).decode() if isinstance(cell, list) else cell for cell in cells
        )
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    """A value as tables have it: objects as JSON text."""
    return orjson.dumps(value).decode() if isinstance(value, dict) else value


def read_rows(path: str | Path) -> list[Row]:
    """Rows of a sweep: of its directory, or of a Parquet or CSV file of its results.

    Raises
    ------
    FlexNetError
        If there are none, or the file is damaged.
    """
    path = Path(path)
    if path.is_dir():
        table = next((file for name in ("results.parquet", "results.csv") if (file := path / name).is_file()), None)
        if table is None:
            raise FlexNetError(
                f"{path} holds no results.parquet of a sweep; flexnet sweep FILE.toml -o {path} makes one"
            )
        path = table
    try:
        content = read_regular(path)
    except OSError as error:
        raise FlexNetError(f"cannot read {path}: {error.strerror or error}") from None
    rows = _csv_rows(content, path) if path.suffix.lower() == ".csv" else _parquet_rows(content, path)
    if not rows:
        raise FlexNetError(f"{path} has no rows")
    return rows


def _parquet_rows(content: bytes, path: Path) -> list[Row]:
    from flexnet.sweep.extra import check_extra

    check_extra("pyarrow")
    import pyarrow
    from pyarrow import parquet

    try:
        rows: list[Row] = parquet.read_table(
            io.BytesIO(content),
            use_threads=False,  # which would at times abort a process that ends while they do
            pre_buffer=False,
        ).to_pylist()
    except (pyarrow.ArrowException, OSError):
        raise FlexNetError(f"{path} is not a Parquet file; results of sweeps are results.parquet or .csv") from None
    return rows


def _csv_rows(content: bytes, path: Path) -> list[Row]:
    try:
        head, *rows = csv.reader(io.StringIO(content.decode()))
    except (UnicodeDecodeError, csv.Error, ValueError) as error:
        raise FlexNetError(f"{path} is not a CSV file: {error if content else 'it is empty'}") from None
    rows = [row for row in rows if row]
    wrong = next((number for number, row in enumerate(rows, 1) if len(row) != len(head)), None)
    if wrong is not None:
        raise FlexNetError(
            f"{path}: row {wrong} has {counted(len(rows[wrong - 1]), 'cell')} and the head {len(head)}; a file that "
            "was cut off is to be written again"
        )
    return [{name: _value(text) for name, text in zip(head, row, strict=True)} for row in rows]


def _value(text: str | None) -> Any:
    """A cell of a CSV file: a number or a list where it reads as one."""
    if not text:
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return {"True": True, "False": False}.get(text, text)
