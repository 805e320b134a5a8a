import pytest

from flexnet.errors import FlexNetError
from flexnet.profiler.journal import Journal, Measured, journal_path

ONE = Measured("Flat@4x8>4x8", (1, 2), 1e-3, 2e-3, 64, 0.25, {"fw_repeats": 5})
TWO = Measured("Flat@4x8>4x8", (1, 4), 5e-4, 1e-3, 32, 0.5, {"note": "x"})


def started(tmp_path, identity=None, resume=False):
    journal = Journal(journal_path(tmp_path / "m.json"), identity or {"model": "dlrm", "big_gpu": 4})
    journal.open(resume=resume)
    return journal


def test_what_was_added_is_read_back(tmp_path):
    journal = started(tmp_path)
    journal.add(ONE)
    journal.add(TWO)
    again = started(tmp_path, resume=True)
    assert list(again.found.values()) == [ONE, TWO]
    again.remove()
    assert list(tmp_path.iterdir()) == []


def test_what_the_device_failed_on_is_kept_too(tmp_path):
    journal = started(tmp_path)
    journal.add(ONE)
    journal.refuse("Flat@4x8>4x8", (1, 4), "illegal access")
    again = started(tmp_path, resume=True)
    assert again.refused == {("Flat@4x8>4x8", (1, 4)): "illegal access"}
    assert list(again.found.values()) == [ONE]


def test_a_journal_of_another_version_is_not_continued(tmp_path):
    journal = started(tmp_path)
    journal.path.write_bytes(journal.path.read_bytes().replace(b'"version":2', b'"version":1'))
    with pytest.raises(FlexNetError, match="its version is 1 and that of this profile 2"):
        started(tmp_path, resume=True)


def test_a_line_cut_off_does_not_count(tmp_path):
    journal = started(tmp_path)
    journal.add(ONE)
    journal.add(TWO)
    journal.path.write_bytes(journal.path.read_bytes()[:-7])
    again = started(tmp_path, resume=True)
    assert list(again.found.values()) == [ONE]
    again.add(TWO)
    assert list(started(tmp_path, resume=True).found.values()) == [ONE, TWO]


def test_one_cut_off_in_its_first_line_starts_again(tmp_path):
    journal = started(tmp_path)
    journal.path.write_bytes(b'{"form')
    assert started(tmp_path).found == {}


def test_an_unfinished_profile_is_not_thrown_away(tmp_path):
    started(tmp_path).add(ONE)
    with pytest.raises(FlexNetError, match=r"m\.json\.partial holds 1 measurements .* --resume"):
        started(tmp_path)


def test_one_of_another_profile_is_not_continued(tmp_path):
    started(tmp_path).add(ONE)
    with pytest.raises(
        FlexNetError,
        match=r"^\S+\.partial cannot be continued: its big gpu is 4 and that of this profile 2; remove it, [^;]*$",
    ):
        started(tmp_path, {"model": "dlrm", "big_gpu": 2}, resume=True)


@pytest.mark.parametrize("content", [b"no\n", b'{"model": "dlrm", "big_gpu": 4}\n{"shape": 1}\n', b"[1]\n"])
def test_what_is_no_journal_is_refused(tmp_path, content):
    journal_path(tmp_path / "m.json").write_bytes(content)
    with pytest.raises(FlexNetError, match="cannot be continued"):
        started(tmp_path, resume=True)


def test_a_full_disk_keeps_what_there_is(tmp_path, monkeypatch):
    journal = started(tmp_path)
    journal.add(ONE)

    def full(*_args, **_more):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.open", full)
        with pytest.raises(FlexNetError, match=r"No space left on device; 1 measurements are kept there"):
            journal.add(TWO)
    assert list(started(tmp_path, resume=True).found.values()) == [ONE]
