from collections import Counter

import numpy as np
import pytest
from fbuf_samples import small_graph, star

from flexnet.errors import FlexNetError
from flexnet.taskgraph_file.encode import encode
from flexnet.taskgraph_file.read import decode, read_taskgraph
from flexnet.taskgraph_file.write import taskgraph_file

# file: servers, switches, FORWARD, NOMINAL_COMM, ALLREDUCE, NW devices, links, group sizes, rings
PUBLISHED = {
    "taskgraphs/100dlrm_16": (16, 1, 360, 496, 62, 232, 16, {8: 10, 16: 36, 1: 16}, None),
    "taskgraphs/100vgg_16": (16, 1, 368, 0, 32, 32, 16, {16: 32}, None),
    "taskgraphs/100candle_16": (16, 1, 492, 456, 140, 104, 16, {4: 86, 8: 32, 16: 22}, None),
    "taskgraphs/100transformer_16": (16, 1, 976, 0, 68, 32, 16, {16: 68}, None),
    "taskgraphs/400dlrm_16": (16, 1, 385, 510, 62, 240, 16, None, None),
    "taskgraphs/400candle_16": (16, 1, 602, 640, 140, 130, 16, None, None),
    "taskgraphs/testbed_12": (12, 0, 198, 132, 36, 150, 24, {12: 30, 1: 6}, {12: 4, 6: 2, 4: 2, 3: 2, 2: 2}),
    "plans/dlrm16.random": (16, 0, 376, 576, 62, 240, 31, None, None),
    "plans/dlrm16.topoopt": (16, 0, 388, 504, 62, 312, 32, None, {16: 4, 8: 2, 4: 2, 2: 2}),
    "plans/transformer16.topoopt": (16, 0, 976, 0, 68, 64, 32, {16: 68}, {16: 4, 8: 2, 4: 2, 2: 2}),
    "plans/vgg16.random": (16, 0, 360, 32, 32, 48, 31, None, None),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_files_are_read(name, shared_data):
    path = shared_data / f"{name}.fbuf"
    if not path.is_file():
        pytest.skip(f"{name} is not among the published data here")
    servers, switches, forward, transfers, reduces, wires, links, groups, rings = PUBLISHED[name]
    file = read_taskgraph(path)
    assert (file.n_server, file.n_switch, file.n_gpu_per_server) == (servers, switches, 1)
    assert (file.inter_gpu_bytes_per_ms, file.dram_bytes_per_ms) == (20971520.0, 33554432.0)
    kinds = Counter(file.tasks.kind.tolist())
    assert [kinds[kind] for kind in (0, 1, 5, 6)] == [forward, forward, transfers, reduces]
    assert kinds.total() == len(file.tasks.kind)
    assert Counter(file.devices.kind.tolist()) == {0: servers, 14: wires}
    assert file.links.shape == (links, 3)
    assert (file.links[:, 0] > file.links[:, 1]).all()
    assert len(file.routes.source) == servers**2
    sizes = Counter(np.diff(file.tasks.succ_ptr)[file.tasks.kind == 6].tolist())
    assert groups is None or sizes == groups
    if rings is None:
        assert file.rings is None
    else:
        assert dict(zip(file.rings.size.tolist(), np.diff(file.rings.ring_ptr).tolist(), strict=True)) == rings


def test_published_files_survive_our_writer(published):
    for path in published:
        file = read_taskgraph(path)
        again = decode(encode(file), "again")
        for part in ("tasks", "devices", "routes", "operators"):
            for name in getattr(file, part).__slots__:
                before, after = getattr(getattr(file, part), name), getattr(getattr(again, part), name)
                assert np.array_equal(before, after), (path, part, name)
        assert np.array_equal(file.links, again.links)
        assert (file.rings is None) == (again.rings is None)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.fbuf", None, "No such file"),
        (".", None, "is not a file"),
        ("empty.fbuf", b"", "only 0 bytes"),
        ("text.fbuf", b'{"measurements": []}', "damaged or not a task graph"),
        ("zeros.fbuf", bytes(100), "points at itself"),
        ("nul\0.fbuf", None, "cannot read"),
    ],
)
def test_what_is_no_task_graph_file_is_refused(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(FlexNetError, match=message):
        read_taskgraph(tmp_path / name)


def test_size_prefix_is_refused():
    graph = small_graph()
    file, _ = taskgraph_file(graph, star(4), operators=[], run_seconds=graph.seconds, inter_gpu_bandwidth=1e9)
    data = encode(file).tobytes()
    with pytest.raises(FlexNetError, match="starts with its own size"):
        decode(len(data).to_bytes(4, "little") + data, "prefixed")


def test_absent_vectors_are_refused():
    # root table with an empty vtable: every field absent
    data = np.array([8, 4 | 4 << 16, 4, 0, 0], "<u4").tobytes()
    with pytest.raises(FlexNetError, match="no vector tasks"):
        decode(data, "bare")
