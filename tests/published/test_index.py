"""What is known of the published files agrees with the files, and with the op lists of the task graphs."""

import json
from pathlib import Path

import pytest

from flexnet.errors import FlexNetError
from flexnet.model.zoo import MODELS
from flexnet.published.index import published_measurement, published_measurements, task_graph_case

# name: (batch, servers, big GPU, operators, keys); FlexNet's measures/ and the models re-built for them
TABLE = {
    "alexnet": (1024, 32, 0, 13, 10),
    "vgg": (27648, 432, 0, 23, 10),
    "vgg128": (32768, 128, 4, 23, 10),
    "vgg32": (8192, 32, 4, 23, 10),
    "vgg16": (4096, 16, 4, 23, 10),
    "resnet": (55296, 432, 0, 90, 18),
    "resnet128": (65536, 128, 4, 90, 18),
    "dlrm16": (16384, 16, 4, 40, 6),
    "dlrm32": (32768, 32, 4, 56, 6),
    "dlrm128": (65536, 128, 4, 88, 6),
    "dlrmsmall": (55296, 432, 0, 88, 6),
    "dlrmlarge": (110592, 432, 0, 152, 6),
    "candle16": (16384, 16, 4, 71, 8),
    "candle32": (32768, 32, 4, 71, 8),
    "candle_128": (131072, 128, 4, 91, 8),
    "candle": (110592, 432, 0, 91, 8),
    "transformer16": (1024, 16, 4, 61, 4),
    "transformer32": (2048, 32, 4, 121, 4),
    "transformer128": (8192, 128, 4, 121, 4),
    "transformer": (6912, 432, 0, 121, 4),
    "ncf128": (65536, 128, 4, 142, 8),
}


def test_all_rows_in_order() -> None:
    assert list(published_measurements()) == list(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_models_have_the_operators_that_were_measured(name: str) -> None:
    published = published_measurement(name)
    graph = published.build()
    row = (published.batch_size, published.n_server, published.big_gpu, len(graph.operators), len(graph.keys()))
    assert row == TABLE[name]
    assert graph.batch_size == published.batch_size


@pytest.mark.parametrize("name", TABLE)
def test_flags_are_known_and_spelled_as_the_original_does(name: str) -> None:
    published = published_measurement(name)
    known = {flag.name for flag in MODELS[published.model].flags if flag.effective}
    assert set(published.flags) <= known
    assert published.arguments[::2] == tuple(published.flags)
    assert published.arguments[1::2] == tuple(published.flags.values())
    assert not any("^" in word for word in published.arguments)


def test_files_hold_these_keys_in_this_order(shared_data: Path) -> None:
    """Every published measurement file that is here: its head, its keys, and the ranks of its configs."""
    checked = []
    for name, published in published_measurements().items():
        path = shared_data / "measurements" / f"{name}.json"
        if not path.exists():
            continue
        content = json.loads(path.read_text())
        graph = published.build()
        assert (content["batch_size"], content["ngpus"]) == (published.batch_size, published.n_server), name
        assert graph.keys() == tuple(dict.fromkeys(entry["name"] for entry in content["measurements"])), name
        rank = {op.key: op.rank for op in graph.operators}
        assert all(entry["pc_str"].startswith(f"{rank[entry['name']]}-") for entry in content["measurements"]), name
        checked.append(name)
    assert checked


@pytest.mark.parametrize(
    ("file_name", "gbps", "name"),
    [
        ("100dlrm_16", 100, "dlrm16"),
        ("100dlrm_16.fbuf", 100, "dlrm16"),
        ("800candle_32.fbuf", 800, "candle32"),
        ("10dlrm_128.fbuf", 10, "dlrm128"),
        ("100transformer_16", 100, "transformer16"),
        ("100vgg_32", 100, "vgg32"),
        ("100ncf_128", 100, "ncf128"),
        ("25candle_128", 25, "candle_128"),
        ("40alexnet_32", 40, "alexnet"),
    ],
)
def test_task_graphs_name_their_measurement(file_name: str, gbps: int, name: str) -> None:
    case = task_graph_case(file_name)
    assert case is not None
    assert case == (gbps, published_measurement(name))
    assert case[1].n_server == int(file_name.removesuffix(".fbuf").rsplit("_", 1)[1])


@pytest.mark.parametrize(
    "file_name", ["testbed_12.fbuf", "dlrm16.topoopt.fbuf", "100dlrm_12.fbuf", "100vgg_16.json", ""]
)
def test_other_task_graphs_have_none(file_name: str) -> None:
    assert task_graph_case(file_name) is None


def test_unknown_name() -> None:
    with pytest.raises(FlexNetError, match=r"'dlrm17'.*dlrm16"):
        published_measurement("dlrm17")


def test_published_task_graphs_hold_these_operators(shared_data: Path) -> None:
    """Names are stored as plain bytes in a task graph: every one must be there, and none after the last."""
    seen = 0
    for path in sorted((shared_data / "taskgraphs").glob("*.fbuf")):
        case = task_graph_case(path.name)
        if case is None:
            continue
        content = path.read_bytes()
        operators = case[1].build().operators
        missing = [op.name for op in operators if op.name.encode() + b"\0" not in content]
        assert missing == [], path.name
        assert f"_{100 + len(operators)}\0".encode() not in content, path.name
        seen += 1
    assert seen
