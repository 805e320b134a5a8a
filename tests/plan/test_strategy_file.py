"""Strategy files, both formats both ways."""

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import mlp, own_keys, problem_of, random_configs, random_problem, waiting

from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.zoo import MODELS
from flexnet.plan.cluster import Cluster
from flexnet.plan.semantics import CORRECTED
from flexnet.plan.strategy import Config, make_strategy, order_configs
from flexnet.plan.strategy_file import parse_strategy, read_strategy, strategy_json, strategy_text

TEXT = "2\nDense_100\n0\n2\n1\t2\t\n2\n0\t3\t\nDense_101\n0\n2\n1\t1\t\n1\n2\t\n"
CONFIGS = [Config((1, 2), (0, 3)), Config((1, 1), (2,))]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_both_formats_come_back_as_they_were(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, CORRECTED)
    configs = random_configs(rng, problem)
    late = waiting(rng, problem, configs)
    assert order_configs(problem.graph, parse_strategy(strategy_json(problem.graph, late), "s"), "s") == late
    files = [strategy_json(problem.graph, configs)]
    if all(len(config.degrees) == op.rank for op, config in zip(problem.graph.operators, configs, strict=True)):
        files.append(strategy_text(problem.graph, configs).encode())
    else:
        with pytest.raises(FlexNetError, match=r"^operator \S+ is cut along its input channels, which the original's"):
            strategy_text(problem.graph, configs)
    for data in files:
        found = order_configs(problem.graph, parse_strategy(data, "s"), "s")
        assert found == configs
        make_strategy(problem, found)


def test_the_originals_text_to_the_byte():
    """Section 7: number of operators, then name, device type, dimensions and devices, tabs after every number."""
    assert strategy_text(mlp(2), CONFIGS) == TEXT
    assert order_configs(mlp(2), parse_strategy(TEXT.encode(), "s"), "s") == CONFIGS


def test_the_originals_text_is_ordered_by_name_as_bytes():
    """Dense_100 and Dense_99 would stand in this order, and so would Concat_102 before Dense_100."""
    b = GraphBuilder("ordered", 4)
    b.softmax(b.concat([b.dense(b.input(2), 2), b.dense(b.input(2), 2)], axis=1))
    graph = own_keys(b.build())
    text = strategy_text(graph, [Config((1, 1), (i,)) for i in range(4)])
    assert text.splitlines()[1::6] == ["Concat_102", "Dense_100", "Dense_101", "Softmax_103"]
    assert text.splitlines()[6::6] == ["2\t", "0\t", "1\t", "3\t"]


def test_our_json_says_what_it_is():
    document = orjson.loads(strategy_json(mlp(2), CONFIGS))
    assert (document["format"], document["version"], document["model"]) == ("flexnet-strategy", 1, "mlp")
    assert document["operators"][0] == {
        "name": "Dense_100",
        "key": mlp(2).operators[0].key,
        "degrees": [1, 2],
        "devices": [0, 3],
    }


def test_files(tmp_path):
    (tmp_path / "s.txt").write_text(TEXT)
    (tmp_path / "s.json").write_bytes(b"\n  " + strategy_json(mlp(2), CONFIGS))
    assert read_strategy(tmp_path / "s.txt") == read_strategy(tmp_path / "s.json")
    with pytest.raises(FlexNetError, match=r"^cannot read strategy file .*none: No such file"):
        read_strategy(tmp_path / "none")


@pytest.mark.parametrize(
    ("replaced", "by", "sentence"),
    [
        ("2\nDense_100", "3\nDense_100", "ends after 2 operators; it is cut off"),
        ("2\nDense_100", "1\nDense_100", "goes on after its 1 operators"),
        ("2\nDense_100", "two\nDense_100", "operator 0: a number was expected: .*'two'"),
        ("Dense_101", "Dense_100", "has operator Dense_100 twice"),
        ("Dense_100\n0", "Dense_100\n1", r"operator Dense_100 is not on a GPU \(device type 0\)"),
        ("0\t3\t", "0\t0\t", "operator Dense_100 has two parts on one server"),
        ("2\n0\t3\t", "1\n0\t", "operator Dense_100 is cut into 2 parts but has 1 devices"),
        ("1\t2\t", "1\tx\t", "operator 0: a number was expected: .*'x'"),
        ("1\t2\t", "0\t2\t", "degrees of operator Dense_100 must be integers of 1 or more"),
        ("0\t3\t", "0\t-3\t", "devices of operator Dense_100 must be integers of 0 or more"),
    ],
)
def test_broken_text_is_refused(replaced, by, sentence):
    assert replaced in TEXT
    with pytest.raises(FlexNetError, match=f"^strategy file s.txt.*{sentence}"):
        parse_strategy(TEXT.replace(replaced, by, 1).encode(), "s.txt")


def test_bytes_that_are_no_text_are_refused():
    with pytest.raises(FlexNetError, match=r"^strategy file s is neither JSON nor text$"):
        parse_strategy(b"\xff\xfe\x00", "s")
    with pytest.raises(FlexNetError, match="ends after 0 operators"):
        parse_strategy(b"", "s")


def json_with(**changes):
    document = {"format": "flexnet-strategy", "version": 1, "operators": []}
    return orjson.dumps({**document, **changes})


def operator(**changes):
    return {"name": "Dense_100", "degrees": [1, 2], "devices": [0, 1], **changes}


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"{", "is not valid JSON"),
        (b"{}", 'must say "format": "flexnet-strategy", "version": 1'),
        (json_with(version=2), 'must say "format": "flexnet-strategy", "version": 1'),
        (json_with(format="strategy"), 'must say "format"'),
        (json_with(operators=None), 'must hold a list "operators"'),
        (json_with(operators={}), 'must hold a list "operators"'),
        (json_with(operators=[3]), "operator 0 of strategy file s has no name"),
        (json_with(operators=[operator(), operator(name=None)]), "operator 1 of strategy file s has no name"),
        (json_with(operators=[operator(), operator()]), "has operator Dense_100 twice"),
        (json_with(operators=[operator(degrees=None)]), "degrees of operator Dense_100 must be integers of 1 or more"),
        (json_with(operators=[operator(degrees=[1, 2.0])]), "degrees of operator Dense_100 must be integers"),
        (json_with(operators=[operator(degrees=[1, True])]), "degrees of operator Dense_100 must be integers"),
        (json_with(operators=[operator(devices=[0, -1])]), "devices of operator Dense_100 must be integers of 0"),
        (json_with(operators=[operator(devices=[0])]), "is cut into 2 parts but has 1 devices"),
        (json_with(operators=[operator(devices=[1, 1])]), "has two parts on one server"),
    ],
)
def test_broken_json_is_refused(data, sentence):
    with pytest.raises(FlexNetError, match=sentence):
        parse_strategy(data, "s")


def test_a_strategy_for_another_model_is_refused():
    graph = mlp(2)
    found = parse_strategy(TEXT.encode(), "s")
    with pytest.raises(FlexNetError, match=r"^s has no operator Dense_102 of model mlp; it is for another model$"):
        order_configs(mlp(3), found, "s")
    with pytest.raises(FlexNetError, match=r"^s has operator Dense_101, which model mlp does not; it is for another"):
        order_configs(mlp(1), found, "s")
    deep = {**found, "Dense_101": Config((1, 1, 1, 2), (0, 1))}
    with pytest.raises(FlexNetError, match=r"^s cuts operator Dense_101 in 4 dimensions; model mlp has 2$"):
        order_configs(graph, deep, "s")


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_mutated_files_are_refused_or_read(data):
    """Bytes changed, cut out or put in anywhere: a clear error or configs, never another exception."""
    problem = problem_of(own_keys(MODELS["dlrm"].build({}, 8)), Cluster(4))
    configs = random_configs(np.random.default_rng(0), problem)
    text = data.draw(st.sampled_from([strategy_json(problem.graph, configs), TEXT.encode()]))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.binary(max_size=4)) + text[at + data.draw(st.integers(0, 4)) :]
    try:
        found = parse_strategy(text, "s")
    except FlexNetError:
        return
    for config in found.values():
        assert len(config.devices) == np.prod(config.degrees)
        assert len(set(config.devices)) == len(config.devices)


VALUES = [None, True, -1, 0, 7, 2**63, 1.5, "", "x", [], {}, [[]], [0], ["x"], [None], [[1, 2]], {"name": 3}]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_any_json_value_anywhere_is_refused_or_read(value):
    for document in (
        {"format": "flexnet-strategy", "version": 1, "operators": value},
        {"format": "flexnet-strategy", "version": 1, "operators": [value]},
        {"format": "flexnet-strategy", "version": 1, "operators": [operator(degrees=value)]},
        {"format": "flexnet-strategy", "version": 1, "operators": [operator(devices=value)]},
        {"format": value, "version": 1},
    ):
        data = orjson.dumps(document)
        if document.get("operators") == []:
            assert parse_strategy(data, "s") == {}
        else:
            with pytest.raises(FlexNetError):
                parse_strategy(data, "s")


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_what_gradients_wait_for_is_a_name_or_nothing(value):
    data = orjson.dumps({"format": "flexnet-strategy", "version": 1, "operators": [operator(after=value)]})
    if value is None or isinstance(value, str):
        (config,) = parse_strategy(data, "s").values()
        assert config.after == value
    else:
        with pytest.raises(FlexNetError, match=r'^strategy file s: "after" of operator \S+ must be the name of an op'):
            parse_strategy(data, "s")
