import pytest

from flexnet.cost.shape_names import shape_name
from flexnet.cost.table import CostTable, Entry, config_text, held_seconds
from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import OpType
from flexnet.plan.cluster import Cluster
from flexnet.plan.problem import make_problem
from flexnet.plan.semantics import CORRECTED, ORIGINAL


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


def shaped():
    b = GraphBuilder("m", 8)
    b.unary(OpType.RELU, b.input(16))
    b.unary(OpType.RELU, b.input(4))
    graph = b.build()
    _, second = graph.operators
    first_times, own = Entry((1, 2), 4.0, 4.0, 4), Entry((1, 2), 1.0, 1.0, 1)
    entries = {"ElementUnary_13": (first_times,)}
    shapes = {shape_name(second): (own,)}
    return graph, CostTable(8, 2, entries, False, "m.json", {}, shapes), first_times, own


def test_an_operator_has_the_times_of_its_shape():
    graph, table, first_times, own = shaped()
    first, second = graph.operators
    assert table.candidates(first) == (first_times,)  # no entry for its shape: that of its name
    assert table.candidates(second) == (own,)
    assert table.candidates(second, by_shape=False) == (first_times,)


def test_original_semantics_price_by_name_and_corrected_ones_by_shape():
    graph, table, first_times, own = shaped()
    cluster = Cluster(n_server=2)
    assert make_problem(graph, table, cluster, CORRECTED).candidates == ((first_times,), (own,))
    assert make_problem(graph, table, cluster, ORIGINAL).candidates == ((first_times,), (first_times,))


def test_of_duplicates_each_has_the_last_ones_costs():
    first, later = Entry((1, 4), 1e-3, 2e-3, 10), Entry((1, 4), 5e-3, 6e-3, 20)
    b = GraphBuilder("m", 8)
    b.dense(b.input(8), 4)
    assert table(first, later).candidates(b.build().operators[0]) == (later, later)
