"""flexnet simulate from end to end, and the files and flags it refuses."""

from dataclasses import replace

import numpy as np
import orjson
import pytest
from fbuf_samples import circulant, ringed, small_graph, star

from flexnet.__main__ import main
from flexnet.taskgraph_file.encode import encode
from flexnet.taskgraph_file.write import taskgraph_file


def sample(net=None, n=4):
    graph = small_graph(n)
    return taskgraph_file(graph, net or star(n), operators=[], run_seconds=graph.seconds, inter_gpu_bandwidth=1e9)[0]


@pytest.fixture
def written(tmp_path):
    def write(file=None):
        path = tmp_path / "graph.fbuf"
        path.write_bytes(encode(file or sample()))
        return str(path)

    return write


def simulate(capsys, *words):
    status = main(["simulate", *words])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def as_json(capsys, *words):
    status, out, err = simulate(capsys, *words, "--json")
    assert (status, err) == (0, "")
    return orjson.loads(out)


def test_it_prints_where_the_time_goes(written, capsys):
    status, out, err = simulate(capsys, written())
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "tasks      4 compute, 2 transfers, 2 all-reduces on 4 servers"
    network = "network    the file's network: 4 links of 100 Gbps, 1 switch, 1 us a hop"
    assert lines[1] == f"{network} (not in the file; see --network-latency); packet"
    assert simulate(capsys, written(), "--network-latency", "1")[1].splitlines()[1] == f"{network}; packet"
    assert "-0.0" not in out
    assert lines[-1].startswith("iteration  6.1") and lines[-1].endswith("exposed communication")
    assert any(line.startswith("link       server 0 -> switch 0") for line in lines)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["random", "--node-degree", "2", "--seed", "3"], "random (drawn with seed 3): "),
        (["topoopt", "--node-degree", "2"], "topoopt (wired anew for what the file sends): "),
        (["fattree"], "fattree: "),
    ],
)
def test_a_network_of_its_own_is_told(words, told, written, capsys):
    """A search may have built another one of the same kind."""
    lines = simulate(capsys, written(), "--topology", *words)[1].splitlines()
    assert lines[1].startswith(f"network    {told}")


def test_json_adds_up(written, capsys):
    found = as_json(capsys, written())
    assert found["iteration_ms"] == pytest.approx(found["compute_ms"] + found["exposed_communication_ms"])
    assert found["compute_ms"] == pytest.approx(3.0)
    assert found["bandwidth_tax"] == pytest.approx(1.0)
    assert sum(phase["ms"] for phase in found["phases"]) == pytest.approx(found["iteration_ms"])
    assert found["bytes_on_links"] == pytest.approx(2 * found["bytes_demanded"])  # up to the switch and down
    assert found["bytes_demanded"] == pytest.approx(2 * 5000 + 4 * 2 * 3 / 4 * 1000 / 4)  # small: one round
    shares = [link["utilisation"] for link in found["links"]]
    assert shares == sorted(shares, reverse=True) and shares[-1] > 0 and shares[0] <= 1
    assert found["draws_ms"] == [found["iteration_ms"]]


@pytest.mark.parametrize(
    "flags",
    [
        ("--topology", "star"),
        ("--topology", "fattree", "--interface-bandwidth", "200"),
        ("--topology", "leafspine", "--servers-per-leaf", "2", "--oversubscription", "2"),
        ("--topology", "kary"),
        ("--topology", "kary", "--ports", "6", "--draws", "7", "--seed", "3"),
        ("--topology", "fc"),
        ("--topology", "random", "--degree", "2"),
        ("--topology", "topoopt", "--node-degree", "2", "--rings", "index"),
        ("--network", "fifo"),
        ("--network", "fifo", "--topology", "kary", "--segment-bytes", "1000"),
        ("--allreduce", "ps"),
        ("--protocol", "fluid", "--network-latency", "0"),
    ],
    ids=" ".join,
)
def test_every_network(flags, written, capsys):
    path = written()
    found = as_json(capsys, path, *flags)
    assert 6.1 <= found["iteration_ms"] < 6.6
    assert found == as_json(capsys, path, *flags)
    status, out, _ = simulate(capsys, path, *flags)
    assert status == 0 and "iteration  6." in out


def test_a_file_without_a_network_runs_on_another(written, capsys):
    bare = sample()
    empty = np.zeros(0, np.int64)
    routes = replace(bare.routes, source=empty, target=empty, path_ptr=np.zeros(1, np.int64), hop=empty)
    routes = replace(routes, chance=np.zeros(0, np.float32), hop_ptr=np.zeros(1, np.int64))
    path = written(replace(bare, links=np.zeros((0, 3), np.int64), routes=routes))
    assert as_json(capsys, path, "--topology", "star") == {
        **as_json(capsys, path, "--topology", "fattree"),
        "topology": "star",
    }
    assert simulate(capsys, path)[0] == 2


def test_twice_the_bandwidth_halves_what_links_need(written, capsys):
    path = written()
    slow, fast = (as_json(capsys, path, "--interface-bandwidth", gbps) for gbps in ("1", "2"))
    assert slow["bytes_on_links"] == fast["bytes_on_links"]
    assert slow["exposed_communication_ms"] > fast["exposed_communication_ms"]


def test_alternatives_are_drawn_by_chance(written, capsys):
    """A pair with two paths: the direct link, or around the circle."""
    file = sample(circulant(4, (1,)))
    routes = file.routes
    at = int(np.flatnonzero((routes.source == 0) & (routes.target == 1))[0])
    path = int(routes.path_ptr[at])
    hop = np.insert(routes.hop, routes.hop_ptr[path + 1], [0, 3, 2, 1])
    hop_ptr = np.insert(routes.hop_ptr, path + 1, routes.hop_ptr[path + 1])
    hop_ptr[path + 2 :] += 4
    path_ptr = routes.path_ptr.copy()
    path_ptr[at + 1 :] += 1
    two = replace(routes, hop=hop, hop_ptr=hop_ptr, path_ptr=path_ptr)
    times = {}
    for chance in (1e-6, 1e6, -1.0):
        chances = np.insert(routes.chance, path + 1, np.float32(chance)).astype(np.float32)
        name = written(replace(file, routes=replace(two, chance=chances)))
        if chance < 0:
            status, _, err = simulate(capsys, name)
            assert status == 2 and "a path of route 0 -> 1 has chance -1" in err
        else:
            times[chance] = as_json(capsys, name)
    assert times[1e-6]["bytes_on_links"] < times[1e6]["bytes_on_links"]
    assert len(times[1e6]["draws_ms"]) == 5


def broken():
    """Files that mean nothing, with what must be said of each."""
    file = sample()
    tasks, routes = file.tasks, file.routes
    comm = int(np.flatnonzero(tasks.kind == 5)[0])
    reduces = int(np.flatnonzero(tasks.kind == 6)[0])

    def with_tasks(**changes):
        return replace(file, tasks=replace(tasks, **changes))

    def changed(array, at, value):
        copy = array.copy()
        copy[at] = value
        return copy

    gone = np.ones(len(routes.source), bool)
    gone[np.flatnonzero((routes.source == 1) & (routes.target == 0))] = False
    counts = np.diff(tasks.succ_ptr)
    no_members = counts.copy()
    no_members[reduces] = 0
    keep = np.ones(len(tasks.succ), bool)
    keep[tasks.succ_ptr[reduces] : tasks.succ_ptr[reduces + 1]] = False
    yield "zero bytes", with_tasks(bytes=changed(tasks.bytes, comm, 0)), "transfer|carries|bytes"
    yield "unknown device", with_tasks(device=changed(tasks.device, comm, 987654321)), "device"
    yield "unknown successor", with_tasks(succ=changed(tasks.succ, 0, 987654321)), "987654321"
    yield "cycle", with_tasks(succ=changed(tasks.succ, tasks.succ_ptr[1], tasks.id[0])), "cycle|wait"
    yield "member", with_tasks(succ=changed(tasks.succ, tasks.succ_ptr[reduces], 99)), "99"
    yield (
        "empty group",
        with_tasks(succ=tasks.succ[keep], succ_ptr=np.concatenate([[0], np.cumsum(no_members)])),
        "group|member|all-reduce",
    )
    yield "nan", with_tasks(run_ms=changed(tasks.run_ms, 0, np.nan)), "nan"
    yield "no links", replace(file, links=np.zeros((0, 3), np.int64)), "link"
    ring = sample(ringed(4))
    jumps = changed(ring.rings.jump, 0, 2)
    yield "open ring", replace(ring, rings=replace(ring.rings, jump=jumps)), "ring"
    self_loop = changed(file.devices.property, np.flatnonzero(file.devices.kind == 14), 0)
    yield "self loop", replace(file, devices=replace(file.devices, property=self_loop)), "server|itself|own"
    slow = replace(file, link_bytes_per_ms=0.0)
    yield "no bandwidth", slow, "--interface-bandwidth"


@pytest.mark.parametrize(("name", "file", "word"), [pytest.param(*case, id=case[0]) for case in broken()])
def test_broken_files_are_refused_with_one_sentence(name, file, word, written, capsys):
    status, out, err = simulate(capsys, written(file))
    assert (status, out) == (2, ""), name
    (line,) = err.splitlines()
    assert line.startswith("flexnet: error: ")
    assert any(part in line for part in word.split("|")), line


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "no task graph given"),
        (("a", "b"), "unexpected argument 'b'"),
        (("none.fbuf",), "cannot read the task graph none.fbuf"),
        (("a", "--topology", "torus"), '--topology is "torus"; it must be file, topoopt'),
        (("a", "--network", "slow"), '--network is "slow"; it must be packet, fair or fifo'),
        (("a", "--ports", "4"), "--ports is for --topology kary; the topology is file"),
        (("a", "--topology", "kary", "--oversubscription", "2"), "--oversubscription is for --topology leafspine"),
        (("a", "--segment-bytes", "5000"), "--segment-bytes is for --network fifo only"),
        (("a", "--network", "fifo", "--allreduce", "ps"), "--allreduce is not for --network fifo"),
        (("a", "--draws", "0"), '--draws is "0"; it must be a whole number from 1 to 10000'),
        (
            ("a", "--interface-bandwidth", "0"),
            '--interface-bandwidth is "0"; it must be a number from 1e-6 to 1e6, in Gbps',
        ),
        (("a", "--oversubscription", "1e300", "--topology", "leafspine"), "it must be a number from 0.001 to 1000"),
        (("a", "--network", "fifo", "--segment-bytes", "1"), "0 (whole transfers) or at least 1000"),
        (("a", "--seed", "1", "--draws", "3", "--seed", "2"), '--seed is given twice, as "1" and as "2"; give it once'),
        (("a", "--jsn"), "unknown flag --jsn; did you mean --json?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_words_are_refused_with_one_sentence(words, sentence, capsys):
    status, out, err = simulate(capsys, *words)
    assert (status, out) == (2, "")
    assert err.startswith("flexnet: error: ") and len(err.splitlines()) == 1
    assert sentence in err


def test_impossible_networks_are_refused(written, capsys):
    path = written()
    for flags, sentence in (
        (("--topology", "kary", "--ports", "3"), "ports must be even"),
        (("--topology", "leafspine", "--oversubscription", "3"), "it must be a whole number"),
        (("--topology", "topoopt", "--degree", "9"), "degree"),
    ):
        status, _, err = simulate(capsys, path, *flags)
        assert status == 2 and sentence in err, err


def test_help_tells_every_flag(capsys):
    status, out, _ = simulate(capsys, "--help")
    assert status == 0
    for flag in ("--network", "--topology", "--oversubscription", "--draws", "--json"):
        assert flag in out


def test_packets_are_followed_for_protocols_that_have_them(written, capsys):
    for protocol, links in (("flexnetpacket", "packet"), ("dctcp", "packet"), ("roce", "fair"), ("fluid", "fair")):
        found = as_json(capsys, written(), "--protocol", protocol)
        assert found["network"] == links
    assert as_json(capsys, written(), "--network", "fair")["network"] == "fair"
    status, _, err = simulate(capsys, written(), "--network", "packet", "--protocol", "roce")
    assert status == 2
    assert "--network packet is for --protocol flexnetpacket or dctcp; roce has no packets to follow" in err


def test_rings_of_flexnetpacket_start_at_an_index_unless_told_otherwise(written, capsys):
    assert as_json(capsys, written())["protocol"]["rings_by_index"] is True
    assert as_json(capsys, written(), "--rings", "member")["protocol"]["rings_by_index"] is False
    assert as_json(capsys, written(), "--protocol", "dctcp")["protocol"]["rings_by_index"] is False


def test_graphs_without_times_are_remarked_on(written, capsys):
    file = sample()
    status, _, err = simulate(capsys, written(replace(file, tasks=replace(file.tasks, run_ms=0 * file.tasks.run_ms))))
    assert status == 0
    assert "none of the 4 compute tasks of" in err and "takes any time; is the file damaged?" in err


def test_too_many_packets_are_told(written, capsys, monkeypatch):
    monkeypatch.setattr("flexnet.simulate.priced_links.MOST_HOPS", 3)
    status, out, err = simulate(capsys, written())
    assert (status, out.splitlines()[1].endswith("; fair")) == (0, True)
    assert "too many packets to follow in a minute" in err
