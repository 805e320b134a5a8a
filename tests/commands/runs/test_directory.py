"""One search at a time writes to a directory."""

import errno
import os
from pathlib import Path
from typing import NoReturn

import pytest

from flexnet.commands.runs.directory import one_writer
from flexnet.errors import FlexNetError


def test_a_directory_is_made_and_held_while_it_lasts(tmp_path: Path) -> None:
    place = tmp_path / "new" / "run"
    with one_writer(place):
        with pytest.raises(FlexNetError, match=f"another search is writing to {place}; wait until"), one_writer(place):
            pass
        with one_writer(tmp_path / "other"):
            pass
        assert list(place.iterdir()) != []
    assert list(tmp_path.iterdir()) == []  # nothing was written, so nothing is left
    with one_writer(place):
        (place / "run.json").touch()
    assert [path.name for path in place.iterdir()] == ["run.json"]


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".checkpoint.json.123.part").touch()
    (tmp_path / ".mine.123.part").touch()
    with one_writer(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == [".mine.123.part"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written_is_for_its_files_to_tell(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with one_writer(tmp_path):
        pass
    tmp_path.chmod(0o700)


def test_file_systems_without_locks_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> NoReturn:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", flock)
    with one_writer(tmp_path), one_writer(tmp_path):
        pass
