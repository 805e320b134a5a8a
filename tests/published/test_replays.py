"""What validate replays, and how it judges."""

import orjson
import pytest

from flexnet.errors import FlexNetError
from flexnet.published.replays import known_runs, replay_cases


@pytest.fixture
def directory(shared_data, tmp_path):
    """One task graph, and times of one's own."""
    (tmp_path / "taskgraphs").mkdir()
    name = "100transformer_16.fbuf"
    (tmp_path / "taskgraphs" / name).write_bytes((shared_data / "taskgraphs" / name).read_bytes())

    def write(document):
        (tmp_path / "expected.json").write_bytes(orjson.dumps(document))
        return list(replay_cases(known_runs(tmp_path)[0]))

    return write


def test_names_tell_speed_and_network(directory):
    runs = {
        "_about": "nothing",
        "star": {"100transformer_16": 63.97, "100transformer_16 at 10 Gbps": 63.97, "other": 1.0, "_about": "x"},
        "fattree k=6 (54 hosts)": {"100transformer_16": {"packet": 64.0}},
        "fc 16": {"100transformer_16": 63.887},
        "something else": {"100transformer_16": 1.0},
    }
    cases = directory({"packet_simulator_runs": runs})
    by_name = [(case.name, case.ok) for case in cases if "mean" not in case.name]
    assert by_name == [
        ("replay star: 100transformer_16", True),
        ("replay star: 100transformer_16", False),
        ("replay fattree k=6: 100transformer_16", True),
        ("replay fc 16: 100transformer_16", True),
    ]


def test_out_of_tolerance_fails(directory):
    case, mean = directory({"packet_simulator": {"100transformer_16": 50.0}})
    assert not case.ok and not mean.ok
    assert case.difference.startswith("+27.9")


@pytest.mark.parametrize("document", [{}, {"packet_simulator": 3, "packet_simulator_runs": [], "plans": None}])
def test_nothing_known_is_nothing_to_compare(document, directory):
    assert directory(document) == []


def test_a_damaged_file_is_refused(tmp_path):
    assert known_runs(tmp_path) == ([], [])
    for content in (b"{", b"[]"):
        (tmp_path / "expected.json").write_bytes(content)
        with pytest.raises(FlexNetError, match=r"expected\.json"):
            known_runs(tmp_path)


def test_a_damaged_task_graph_fails_its_case_only(directory, tmp_path):
    (tmp_path / "taskgraphs" / "100vgg_16.fbuf").write_bytes(b"none")
    bad, good, mean = directory({"packet_simulator": {"100vgg_16": 1.0, "100transformer_16": 63.97}})
    assert (bad.ok, good.ok, mean.ok, mean.ours) == (False, True, True, "1 graphs")
    assert "100vgg_16.fbuf" in bad.problem
