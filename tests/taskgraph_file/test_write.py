from dataclasses import replace

import numpy as np
import pytest
from fbuf_samples import GIB, circulant, network, ringed, small_graph, star, task_graph, task_graphs
from hypothesis import given, settings

from flexnet.errors import FlexNetError
from flexnet.network.link_speeds import LinkSpeeds
from flexnet.network.network import connect
from flexnet.plan.task_kinds import ALLREDUCE, BACKWARD, FORWARD, NOMINAL_COMM
from flexnet.taskgraph_file.convert import to_network, to_task_graph
from flexnet.taskgraph_file.encode import encode
from flexnet.taskgraph_file.read import decode, read_taskgraph
from flexnet.taskgraph_file.write import taskgraph_and_origin, taskgraph_file, write_taskgraph

NETWORKS = {"star": star(6), "rings": ringed(6), "flat": circulant(6, (1, 3))}


def file_of(graph, net, **changes):
    arguments = {"operators": [], "run_seconds": graph.seconds, "inter_gpu_bandwidth": 1e9} | changes
    return taskgraph_file(graph, net, **arguments)


def write(path, graph, net):
    return write_taskgraph(path, graph, net, operators=[], run_seconds=graph.seconds, inter_gpu_bandwidth=1e9)


@pytest.mark.parametrize("name", NETWORKS)
@settings(deadline=None, max_examples=40)
@given(graph=task_graphs(6))
def test_round_trip(name, graph):
    net = NETWORKS[name]
    about = {"operators": [], "run_seconds": graph.seconds, "inter_gpu_bandwidth": 1e9}
    file, _, origin = taskgraph_and_origin(graph, net, **about)  # roots have changed places
    file = decode(encode(file), "again")
    again = to_task_graph(file)
    again.check()
    assert again.n_server == graph.n_server
    assert sorted(origin.tolist()) == list(range(graph.n_task))
    for column in ("kind", "bytes", "op"):
        assert np.array_equal(getattr(again, column), getattr(graph, column)[origin]), column
    assert again.seconds == pytest.approx(graph.seconds[origin], rel=1e-6)
    for task, before in enumerate(origin.tolist()):
        assert origin[again.successors(task)].tolist() == graph.successors(before).tolist()
        if graph.kind[before] == ALLREDUCE:
            assert np.array_equal(again.members(task), graph.members(before))
        else:
            assert again.place[task] == graph.place[before]

    back = to_network(file, net.link_bandwidth, net.latency)
    assert np.array_equal(back.topology.links, net.topology.links)
    assert np.array_equal(back.route_ptr, net.route_ptr)
    assert np.array_equal(back.route, net.route)
    assert back.topology.n_switch == net.topology.n_switch
    if file.has_rings:
        assert dict(back.topology.rings) == dict(net.topology.rings)


def test_the_file_follows_the_original():
    """Reference section 6, "Details"."""
    graph = small_graph()
    seconds = graph.seconds.copy()
    seconds[6:] = 3e-3, 4e-3
    file, remarks = file_of(graph, star(4), run_seconds=seconds, operators=[("Dense_100", 5)])
    assert remarks == ()
    assert file.links.tolist() == [[4, 0, 1], [4, 1, 1], [4, 2, 1], [4, 3, 1]]
    assert file.devices.kind.tolist() == [0, 0, 0, 0, 14, 14]
    assert file.devices.property.tolist() == [0, 1, 2, 3, 0 * 5 + 1, 1 * 5 + 0]
    assert file.devices.server.tolist() == [0, 1, 2, 3, 2**64 - 1, 2**64 - 1]
    assert not file.devices.bandwidth.any()
    assert file.tasks.kind.tolist() == [0, 1, 0, 1, 6, 6, 5, 5]
    assert file.tasks.id.tolist() == list(range(1, 9))
    assert file.tasks.device.tolist() == [1, 1, 2, 2, 0, 0, 5, 6]
    assert file.tasks.run_ms.tolist() == np.float32([1, 2, 1, 2, 0.1, 0, 3, 4]).tolist()
    assert file.tasks.bytes.tolist() == [0, 0, 0, 0, 1000, 10 * GIB, 5000, 5000]
    assert [file.tasks.members(task).tolist() for task in range(8)] == [
        [2, 7],
        [5],
        [4],
        [5, 6, 8],
        [0, 1, 2, 3],
        [1],
        [3],
        [2],
    ]
    assert file.operators.name == ("Dense_100",)
    assert file.rings is None


@pytest.mark.parametrize("size", [2**32 - 1, 2**32, 2**32 + 1, 10 * GIB + 3, 3 * (2**32 - 1)])
def test_all_reduces_of_4_gib_are_split_without_rings(size):
    graph = small_graph(reduce_bytes=size)
    file, remarks = file_of(graph, star(4))
    n = -(-size // (2**32 - 1))
    parts = np.flatnonzero((file.tasks.kind == ALLREDUCE) & (np.diff(file.tasks.succ_ptr) == 4))
    assert len(parts) == n
    sizes = file.tasks.bytes[parts].tolist()
    assert sum(sizes) == size
    assert max(sizes) < 2**32
    assert max(sizes) - min(sizes) <= 1
    assert (file.tasks.run_ms[parts] == np.float32(0.1)).all()
    ids = file.tasks.id[parts].tolist()
    assert file.tasks.members(1).tolist() == ids
    assert file.tasks.members(3).tolist() == [*ids, ids[-1] + 1, ids[-1] + 3]
    assert file.tasks.bytes.tolist().count(10 * GIB) == 1 + (size == 10 * GIB)  # the group of one stays whole
    assert bool(remarks) == (n > 1)


def test_all_reduces_over_rings_are_not_split():
    file, remarks = file_of(small_graph(reduce_bytes=5 * GIB), ringed(4))
    assert 5 * GIB in file.tasks.bytes.tolist()
    assert remarks == ()


def test_rings_are_left_out_where_a_group_has_none():
    net = circulant(4, (1, 2), rings={2: ((1, 1),)})
    file, remarks = file_of(small_graph(reduce_bytes=5 * GIB), net)
    assert file.rings is None
    assert "no ring for all-reduces over 4 servers" in remarks[0]
    assert "4 GiB" in remarks[1]


def test_remarks_name_approximations():
    tasks = [(FORWARD, 0, 1e-3, 0), (ALLREDUCE, 0, 0.0, 50_000)]
    graph = task_graph(8, tasks, [(0, 1)], [(0, 2, 4, 6)])
    _, remarks = file_of(graph, circulant(8, (1,), rings={8: ((1,),), 4: ((1, 1),)}))
    (remark,) = remarks
    assert "1 all-reduces are over servers other than" in remark


def test_only_flat_networks_have_rings_in_the_file():
    net = star(4)
    with_rings = replace(net, topology=replace(net.topology, rings={4: ((1,),)}))
    file, _ = file_of(small_graph(), with_rings)
    assert file.rings is None


BAD = {
    "must be equal": (small_graph(), star(5), {}),
    "one each": (small_graph(), star(4), {"run_seconds": np.zeros(3)}),
    "between GPUs is inf": (small_graph(), star(4), {"inter_gpu_bandwidth": float("inf")}),
    "of memory is -1.0": (small_graph(), star(4), {"dram_bandwidth": -1.0}),
    "between GPUs is nan": (small_graph(), star(4), {"inter_gpu_bandwidth": float("nan")}),
    "takes nan ms": (small_graph(), star(4), {"run_seconds": np.full(8, np.nan)}),
    "takes inf ms": (small_graph(), star(4), {"run_seconds": np.full(8, 1e300)}),
    "waits for no task": (
        task_graph(2, [(FORWARD, 0, 1.0, 0), (ALLREDUCE, 0, 0.0, 1)], [], [(0, 1)]),
        star(2),
        {},
    ),
    "takes any time": (task_graph(2, [(FORWARD, 0, 0.0, 0), (BACKWARD, 0, 0.0, 0)], [(0, 1)]), star(2), {}),
    "route 0 -> 1 is missing": (
        task_graph(3, [(FORWARD, 0, 1.0, 0), (NOMINAL_COMM, 1, 0.0, 5)], [(0, 1)]),
        network(3, [(1, 2)]),
        {},
    ),
}


@pytest.mark.parametrize("message", BAD)
def test_what_the_packet_simulator_cannot_run_is_refused(message):
    graph, net, changes = BAD[message]
    with pytest.raises(FlexNetError, match=message):
        file_of(graph, net, **changes)


def test_one_server_alone():
    graph = task_graph(1, [(FORWARD, 0, 1e-3, 0), (ALLREDUCE, 0, 0.0, 8)], [(0, 1)], [(0,)])
    file = decode(encode(file_of(graph, network(1, []))[0]), "f")
    assert to_task_graph(file).n_task == 2
    assert len(to_network(file, 1e9, 0).route) == 0


def test_a_missing_directory_is_named(tmp_path):
    with pytest.raises(FlexNetError, match=r"cannot write .*/no/x.fbuf: No such file"):
        write(tmp_path / "no" / "x.fbuf", small_graph(), star(4))


@pytest.mark.parametrize(
    ("target", "n_node", "n_server"),
    [("fattree", 16, 16), ("fc", 16, 16), ("flat", 17, 16), ("rings", 8, 8), ("flat", 8, 8)],
)
def test_published_acceptance_checks_pass(tmp_path, acceptance_check, cpp_accepts, target, n_node, n_server):
    net = star(n_server) if n_server == 16 else ringed(8) if target == "rings" else circulant(8, (1, 3))
    paths = []
    for size in (1000, 200_000, 10 * GIB):
        paths.append(tmp_path / f"{size}.fbuf")
        write(paths[-1], small_graph(n_server, size), net)
        read_taskgraph(paths[-1])
        verdict = acceptance_check(paths[-1], "flat" if target == "rings" else target, n_node)
        assert verdict.split()[1] == "OK", verdict
    assert all(cpp_accepts(paths))


def test_random_graphs_pass_the_acceptance_checks(tmp_path, acceptance_check, cpp_accepts):
    paths = []

    @settings(deadline=None, max_examples=10, database=None)
    @given(graph=task_graphs(6))
    def run(graph):
        path = tmp_path / f"{len(paths)}.fbuf"
        try:
            write(path, graph, star(6))
        except FlexNetError as error:
            assert "takes any time" in str(error)
            return
        paths.append(path)
        verdict = acceptance_check(path, "fattree", 16)
        assert verdict.split()[1] == "OK", verdict

    run()
    assert all(cpp_accepts(paths))


@pytest.mark.benchmark
def test_a_large_graph_is_written_and_read(benchmark, tmp_path):
    from fbuf_samples import large_graph

    graph, net = large_graph(), star(128)

    def write_and_read():
        write(tmp_path / "x.fbuf", graph, net)
        return read_taskgraph(tmp_path / "x.fbuf")

    file = benchmark(write_and_read)
    assert len(file.tasks.kind) == graph.n_task == 22_446


@pytest.mark.parametrize(
    ("gbps", "unit", "counts", "off"),
    [
        ((100, 100, 100, 100), 100, [1, 1, 1, 1], None),
        ((100, 200, 100, 400), 100, [1, 2, 1, 4], None),
        ((100, 250, 150, 100), 50, [2, 5, 3, 2], None),
        ((3, 10, 10, 100 / 3), 1 / 3, [9, 30, 30, 100], None),
        ((100, 100 * 2**0.5, 100, 100), None, None, "%"),
    ],
)
def test_links_of_several_speeds_are_so_many_of_one(gbps, unit, counts, off):
    bandwidth = np.zeros((5, 5))
    bandwidth[4, :4] = bandwidth[:4, 4] = np.array(gbps) / 8e-9
    latency = np.where(bandwidth > 0, 1e-6, 0.0)
    latency[4, 3] = latency[3, 4] = 2e-6
    topology = replace(star(4).topology, speeds=LinkSpeeds(bandwidth, latency))
    net = connect(topology, 1.0, 0.0, (star(4).route_ptr, star(4).route))
    file, remarks = file_of(small_graph(), net)
    about_latency = "links have latencies of 1 to 2 us; the file holds none, and the packet simulator has one for all"
    assert remarks[-1] == about_latency
    assert len(remarks) == (1 if off is None else 2)
    if off is None:
        assert file.link_bytes_per_ms * 8e-6 == pytest.approx(unit)
        assert file.links[:, 2].tolist() == counts
    else:
        assert remarks[0].startswith("the file has one bandwidth for all links; they are written as so many parallel")
    assert file.links[:, 2] * file.link_bytes_per_ms * 8e-6 == pytest.approx(gbps, rel=1e-6 if off is None else 0.01)
