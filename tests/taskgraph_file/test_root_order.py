import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexnet.taskgraph_file.root_order import BUCKET_COUNTS, iteration_order, root_ranks

PROGRAM = """
#include <cstdint>
#include <iostream>
#include <unordered_map>
int main() {
    std::unordered_map<std::uint64_t, int> table;
    for (std::uint64_t id; std::cin >> id;) table[id] = 0;
    for (auto &entry : table) std::cout << entry.first << ' ';
}
"""


def test_the_order_the_packet_simulator_was_measured_with():
    ids = np.arange(1, 41, dtype=np.uint64)
    assert ids[iteration_order(ids)].tolist() == [*range(40, 29, -1), *range(13, 0, -1), *range(14, 30)]


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("n", [0, 1, 13, 14, 30, 5000, 25_000])
def test_the_standard_library_gives_the_same_order(n, tmp_path_factory):
    program = tmp_path_factory.getbasetemp() / "order"
    if not program.exists():
        subprocess.run(["g++", "-O1", "-x", "c++", "-", "-o", program], input=PROGRAM, text=True, check=True)
    pointers = 0x7F00_0000_0000 + 16 * np.random.default_rng(n).permutation(8 * n)[:n]
    ids = pointers.astype(np.uint64)
    done = subprocess.run([program], input=" ".join(map(str, ids)), capture_output=True, text=True, check=True)
    assert ids[iteration_order(ids)].tolist() == [int(word) for word in done.stdout.split()]


def test_the_table_grows_to_hold_every_task_of_a_file():
    assert BUCKET_COUNTS[-1] > 2**31 // 24  # a task takes at least that many bytes
    assert (BUCKET_COUNTS[1:] >= 2 * BUCKET_COUNTS[:-1]).all()


@given(st.lists(st.integers(0, 2**64 - 1), unique=True, max_size=60), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_ranks_order_roots_only(ids, seed):
    keys = np.array(ids, np.uint64)
    waits = np.random.default_rng(seed).random(len(ids)) < 0.5
    ranks = root_ranks(keys, waits)
    order = iteration_order(keys)
    assert sorted(order.tolist()) == list(range(len(ids)))
    assert (ranks[waits] == 0).all() and (ranks[~waits] < 0).all()
    assert (np.diff(ranks[order[~waits[order]]]) > 0).all()
