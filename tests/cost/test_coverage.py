from dataclasses import replace

import pytest

from flexnet.cost.coverage import check_covers
from flexnet.cost.table import CostTable, Entry
from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder


def table(*entries):
    return CostTable(64, 4, {"Dense_8_4": tuple(entries)}, False, "m.json", {})


def graph(batch=64):
    b = GraphBuilder("mlp", batch)
    b.dense(b.input(8), 4)
    return b.build()


ONE = Entry((1, 4), 1e-3, 1e-3, 1)


def test_a_table_that_covers_its_model():
    check_covers(table(ONE, Entry((2, 2), 1e-3, 1e-3, 1)), graph())


@pytest.mark.parametrize(
    ("entries", "match"),
    [
        ([], r"^m\.json lacks config 2-1-4 of Dense_8_4: operator Dense_100 starts"),
        ([Entry((1, 2), 1, 1, 1)], "lacks config 2-1-4"),
        ([ONE, Entry((1, 1, 1), 1, 1, 1)], r"config 3-1-1-1 of Dense_8_4 cuts 3 dimensions; operator Dense_100 has 2"),
        ([ONE, Entry((1, 1, 3), 1, 1, 1)], r"config 3-1-1-3 .* input channels of operator Dense_100, 8, into 3 pieces"),
        ([ONE, Entry((3, 1), 1, 1, 1)], r"config 2-3-1 .* dimension 0 of operator Dense_100, 4, into 3 pieces"),
        ([ONE, Entry((1, 3), 1, 1, 1)], r"cuts the batch of operator Dense_100, 64, into 3"),
    ],
)
def test_tables_that_do_not_cover(entries, match):
    with pytest.raises(FlexNetError, match=match):
        check_covers(table(*entries), graph())


def test_a_key_that_is_absent_is_named():
    with pytest.raises(FlexNetError, match=r"^m\.json has no measurement Dense_8_4, which operator Dense_100 of model"):
        check_covers(CostTable(64, 4, {}, False, "m.json", {}), graph())


def test_a_model_of_another_batch_size():
    with pytest.raises(FlexNetError, match=r"measured at batch size 64; model mlp has batch size 32"):
        check_covers(table(ONE), graph(32))


def test_an_embedding_needs_one_config_that_fits():
    b = GraphBuilder("m", 64)
    b.embedding(b.input(2, dtype="int64"), 10, 4)

    def with_degrees(*degrees):
        entries = tuple(Entry(d, 1, 1, 1) for d in degrees)
        return CostTable(64, 4, {"Embed_10x4": entries}, False, "m.json", {})

    check_covers(with_degrees((1, 1)), b.build())
    with pytest.raises(FlexNetError, match="no config of Embed_10x4, which operator Embedding_100 needs, fits on 4"):
        check_covers(with_degrees((1, 8)), b.build())


def test_a_shape_must_cover_its_operator_too():
    shapes = {"Dense_8_4@8x64>4x64;activation=0,weights=2": (Entry((1, 2), 1, 1, 1),)}
    with pytest.raises(FlexNetError, match="lacks config 2-1-4"):
        check_covers(replace(table(ONE), shapes=shapes), graph())
