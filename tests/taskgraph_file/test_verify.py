"""Our verifier against the C++ one, and against whatever bytes come."""

import random
from contextlib import suppress
from functools import cache

import numpy as np
import pytest
from fbuf_samples import ringed, small_graph, star
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flexnet.errors import FlexNetError
from flexnet.taskgraph_file.check import check_file
from flexnet.taskgraph_file.convert import to_network, to_task_graph
from flexnet.taskgraph_file.encode import encode
from flexnet.taskgraph_file.read import decode
from flexnet.taskgraph_file.verify import verify
from flexnet.taskgraph_file.write import taskgraph_file

INTERESTING = (0, 1, 2, 3, 4, 8, 255, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 4, 2**32 - 1)


@cache
def small_bytes(rings: bool) -> bytes:
    graph = small_graph()
    file, _ = taskgraph_file(
        graph,
        ringed(4) if rings else star(4),
        operators=[("Dense_100", 5), ("Embedding_101", 23)],
        run_seconds=graph.seconds,
        inter_gpu_bandwidth=1e9,
    )
    return encode(file).tobytes()


def accepts(data: bytes) -> bool:
    try:
        verify(data, "data")
    except FlexNetError:
        return False
    return True


def read_all(data: bytes) -> None:
    """Everything a user's file goes through."""
    file = decode(data, "data")
    check_file(file)
    graph = to_task_graph(file)
    graph.check()
    assert graph.n_task == len(file.tasks.kind)
    to_network(file, 1e9, 1e-6)


def mutate(data: bytes, rng: random.Random) -> bytes:
    """One to three changes such as damage, truncation or malice make."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at = rng.randrange(len(out) - 4)
        match rng.randrange(7):
            case 0:
                out[at] ^= 1 << rng.randrange(8)
            case 1:
                out[at] = rng.randrange(256)
            case 2:  # words are where offsets and lengths are
                at -= at % 4
                out[at : at + 4] = rng.choice(INTERESTING).to_bytes(4, "little")
            case 3:
                at -= at % 4
                word = int.from_bytes(out[at : at + 4], "little") + rng.choice([-8, -4, -2, -1, 1, 2, 4, 8])
                out[at : at + 4] = (word % 2**32).to_bytes(4, "little")
            case 4:
                at -= at % 2
                out[at : at + 2] = rng.choice([0, 1, 2, 3, 4, 5, 6, 8, 100, 65535]).to_bytes(2, "little")
            case 5:
                del out[rng.randrange(9, len(out)) :]
            case 6:
                out[at:at] = bytes(rng.choice([1, 4, 8]))
        if len(out) < 9:
            break
    return bytes(out)


def test_cpp_verifier_accepts_what_we_write_and_the_published_files(cpp_accepts, published, tmp_path):
    ours = []
    for rings in (False, True):
        ours.append(tmp_path / f"{rings}.fbuf")
        ours[-1].write_bytes(small_bytes(rings))
    for path in published:
        ours.append(tmp_path / path.name)
        ours[-1].write_bytes(encode(decode(path.read_bytes(), path.name)))
    paths = [*ours, *published]
    assert all(accepts(path.read_bytes()) for path in paths)
    assert all(cpp_accepts(paths))


@pytest.mark.parametrize("rings", [False, True])
def test_verdicts_on_mutations_agree_with_the_cpp_verifier(cpp_accepts, tmp_path, rings):
    rng = random.Random(rings)
    paths = []
    for i in range(400):
        paths.append(tmp_path / f"{i}.fbuf")
        paths[-1].write_bytes(mutate(small_bytes(rings), rng))
    ours = [accepts(path.read_bytes()) for path in paths]
    theirs = cpp_accepts(paths)
    assert [path.name for path, a, b in zip(paths, ours, theirs, strict=True) if a != b] == []
    assert 40 < sum(ours) < 360  # both verdicts occur


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False), st.booleans())
def test_damaged_files_are_read_or_refused(rng, rings):
    data = mutate(small_bytes(rings), rng)
    try:
        read_all(data)
    except FlexNetError as error:
        assert "\n" not in str(error)


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data):
    with pytest.raises(FlexNetError):
        read_all(data)


def test_damaged_published_files_are_read_or_refused(published):
    rng = random.Random(0)
    for path in published:
        data = path.read_bytes()
        for _ in range(10):
            with suppress(FlexNetError):
                read_all(mutate(data, rng))


def test_every_truncation_is_refused():
    data = small_bytes(True)
    assert not any(accepts(data[:n]) for n in range(0, len(data) - 8, 5))


def test_shared_parts_are_not_expanded():
    """100,000 routes that are one route of 100,000 paths that are one path: 10^10 tables in 800 kB."""
    n = 100_000
    words = [0] * 20
    words[0] = 4 * 8  # root
    vtables = np.array([4 + 2 * 12, 8, *[0] * 10, 4, 0], "<u2")  # 28 bytes: only routes
    head = np.array([32], "<u4").tobytes() + vtables.tobytes()
    root = 32
    assert len(head) == root
    # vtable of Route and Path: table 8 bytes, one reference
    route_vtable, path_vtable = root + 8, root + 8 + 12
    routes = path_vtable + 8
    route = routes + 4 + 4 * n
    paths = route + 8
    path = paths + 4 + 4 * n

    def vector(place, target):
        at = place + 4 + 4 * np.arange(n)
        return np.concatenate([[n], target - at]).astype("<u4").tobytes()

    data = head
    data += np.array([root - 4, routes - (root + 4)], "<i4").tobytes()
    data += np.array([10, 8, 0, 0, 4, 0], "<u2").tobytes() + np.array([8, 8, 0, 0], "<u2").tobytes()
    data += vector(routes, route) + np.array([route - route_vtable, paths - (route + 4)], "<i4").tobytes()
    data += vector(paths, path) + np.array([path - path_vtable, 0], "<i4").tobytes()
    with pytest.raises(FlexNetError, match="uses its parts so often"):
        verify(data, "bomb")
