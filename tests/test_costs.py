import pytest

from flexnet.costs import CostTable, Entry, config_text, held_seconds
from flexnet.errors import FlexNetError


def table(*entries):
    return CostTable(64, 4, {"Dense_8_4": entries}, False, "m.json", {})


def test_lookup_finds_the_config():
    entry = Entry((1, 4), 1e-3, 2e-3, 10)
    assert table(Entry((1, 1), 4e-3, 8e-3, 40), entry).lookup("Dense_8_4", (1, 4)) is entry


def test_a_later_duplicate_wins():
    first, later = Entry((1, 4), 1e-3, 2e-3, 10), Entry((1, 4), 5e-3, 6e-3, 20)
    duplicated = table(first, later)
    assert duplicated.lookup("Dense_8_4", (1, 4)) is later
    assert duplicated.entries["Dense_8_4"] == (first, later)


def test_a_missing_key_is_named():
    with pytest.raises(FlexNetError, match=r"^m\.json has no measurement of Dense_8_5;"):
        table().lookup("Dense_8_5", (1, 4))


def test_a_missing_config_is_named_with_those_there_are():
    one = Entry((1, 1), 1.0, 1.0, 1)
    with pytest.raises(FlexNetError, match=r"m\.json .* Dense_8_4 with config 2-1-2; it has 2-1-1, 2-1-4$"):
        table(one, Entry((1, 4), 1.0, 1.0, 1), one).lookup("Dense_8_4", (1, 2))


def test_config_text_counts_dimensions_first():
    assert config_text((1, 1, 1, 8)) == "4-1-1-1-8"


def test_times_are_held_as_float32_milliseconds():
    assert held_seconds(0.5) == 0.0005
    assert held_seconds(0.281293) == 0.28129300475120544 * 1e-3
