from dataclasses import replace

import numpy as np
import pytest
from fbuf_samples import circulant, small_graph, star

from flexnet.errors import FlexNetError
from flexnet.taskgraph_file.convert import to_network, to_task_graph
from flexnet.taskgraph_file.read import read_taskgraph
from flexnet.taskgraph_file.write import taskgraph_file


def small_file(net=None):
    graph = small_graph()
    return taskgraph_file(graph, net or star(4), operators=[], run_seconds=graph.seconds, inter_gpu_bandwidth=1e9)[0]


def test_published_files_become_graphs_and_networks(published):
    for path in published:
        file = read_taskgraph(path)
        graph = to_task_graph(file)
        graph.check()
        assert graph.n_task == len(file.tasks.kind)
        compute = graph.kind < 2
        assert graph.seconds[compute] * 1e3 == pytest.approx(file.tasks.run_ms[compute])
        assert not graph.seconds[graph.kind == 5].any()
        net = to_network(file, file.link_bytes_per_ms * 1e3, 1e-6)
        assert net.topology.links.sum() == 2 * file.links[:, 2].sum()
        n = file.n_server
        lengths = np.diff(net.route_ptr).reshape(n, n)
        assert (np.diag(lengths) == 0).all()
        assert (lengths + np.eye(n) >= 1).all()
        # routes are chains of links from source to target
        for pair in range(n * n):
            links = net.route[net.route_ptr[pair] : net.route_ptr[pair + 1]]
            nodes = [*net.link_from[links[:1]].tolist(), *net.link_to[links].tolist()]
            if len(links):
                assert (nodes[0], nodes[-1]) == divmod(pair, n)
                assert net.link_from[links].tolist() == nodes[:-1]


def test_devices_in_any_order_and_several_for_a_pair():
    file = small_file()
    devices = file.devices
    order = np.array([5, 2, 4, 0, 3, 1, 4])
    shuffled = replace(devices, **{name: getattr(devices, name)[order] for name in devices.__slots__})
    shuffled.id[-1] = 77
    tasks = replace(file.tasks, device=np.where(file.tasks.id == 7, np.uint64(77), file.tasks.device))
    graph = to_task_graph(replace(file, devices=shuffled, tasks=tasks))
    assert np.array_equal(graph.place, to_task_graph(file).place)


def test_a_route_in_any_order_gives_the_same_network():
    file = small_file(circulant(4, (1,)))
    routes = file.routes
    order = np.random.default_rng(0).permutation(16)
    has_path = np.diff(routes.path_ptr)
    path = [int(routes.path_ptr[r]) for r in order if has_path[r]]
    hops = [routes.hop[routes.hop_ptr[p] : routes.hop_ptr[p + 1]] for p in path]
    shuffled = replace(
        routes,
        source=routes.source[order],
        target=routes.target[order],
        path_ptr=np.concatenate([[0], np.cumsum(has_path[order])]),
        hop_ptr=np.concatenate([[0], np.cumsum([len(h) for h in hops])]),
        hop=np.concatenate(hops),
    )
    a, b = to_network(file, 1e9, 0.0), to_network(replace(file, routes=shuffled), 1e9, 0.0)
    assert np.array_equal(a.route_ptr, b.route_ptr)
    assert np.array_equal(a.route, b.route)


def test_what_flexnet_does_not_simulate_is_named():
    file = small_file()
    kind = file.tasks.kind.copy()
    kind[0] = 4
    with pytest.raises(FlexNetError, match="task 1 is of type BARRIER"):
        to_task_graph(replace(file, tasks=replace(file.tasks, kind=kind)))
    server = file.devices.server.copy()
    server[1] = 0
    with pytest.raises(FlexNetError, match="2 devices of server 0"):
        to_task_graph(replace(file, devices=replace(file.devices, server=server)))
    kind = file.devices.kind.copy()
    kind[4] = 12
    with pytest.raises(FlexNetError, match="PCI or NVLINK"):
        to_task_graph(replace(file, devices=replace(file.devices, kind=kind)))


def test_too_few_links_are_named():
    with pytest.raises(FlexNetError, match="4 links cannot join 4 servers and 40000 switches"):
        to_network(replace(small_file(), n_switch=40_000), 1e9, 0.0)
