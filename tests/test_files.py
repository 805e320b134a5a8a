import errno
import os
from pathlib import Path

import pytest

from flexnet.errors import FlexNetError
from flexnet.files import write_atomically


def test_replaces_what_was_there(tmp_path):
    path = tmp_path / "x.fbuf"
    path.write_bytes(b"old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_follows_links_and_spares_devices(tmp_path):
    link, target = tmp_path / "link", tmp_path / "target"
    link.symlink_to(target)
    write_atomically(link, b"data")
    assert link.is_symlink()
    assert target.read_bytes() == b"data"
    write_atomically("/dev/null", b"data")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("name", ["no/such/directory/x", ".", "nul\0", "n" * 300])
def test_impossible_names_are_refused(tmp_path, name):
    with pytest.raises(FlexNetError, match="cannot write"):
        write_atomically(tmp_path / name, b"data")
    assert list(tmp_path.iterdir()) == []


def test_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.fbuf"
    path.write_bytes(b"old")

    def full(self, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(FlexNetError, match="No space left"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_interruption_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(self, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "x.fbuf", b"new")
    assert list(tmp_path.iterdir()) == []


def test_what_killed_writers_left_is_removed_when_it_is_old(tmp_path):
    path = tmp_path / "x.json"
    parts = {number: tmp_path / f".x.json.{number}.part" for number in (os.getppid(), 2**22 + 1, 2**22 + 2)}
    mine = tmp_path / ".y.json.4194305.part"
    for part in (*parts.values(), mine):
        part.touch()
        os.utime(part, (0, 0))
    os.utime(parts[2**22 + 2])  # of a process on another machine, it may be
    write_atomically(path, b"new")
    assert sorted(tmp_path.iterdir()) == sorted([path, parts[os.getppid()], parts[2**22 + 2], mine])
