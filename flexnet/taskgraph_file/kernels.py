"""Order of a chained hash table in which all entries are one linked list."""

import numpy as np
from numba import njit

__all__ = ["hash_order"]


@njit(cache=True)
def _link(i, bucket, keys, after, before):  # type: ignore[no-untyped-def]
    """Insert entry ``i``: behind the predecessor of its bucket's first entry, or at the head of the list.

    Entry 0 of ``after`` is the head; entries are numbered from 1.
    """
    n_bucket = np.uint64(before.shape[0])
    if before[bucket] >= 0:
        after[i] = after[before[bucket]]
        after[before[bucket]] = i
        return
    first = after[0]
    after[i] = first
    after[0] = i
    if first > 0:
        before[keys[first - 1] % n_bucket] = i
    before[bucket] = 0


@njit(cache=True)
def hash_order(keys, bucket_counts, order):  # type: ignore[no-untyped-def]
    """Iteration order of libstdc++'s ``std::unordered_map`` after inserting distinct integers.

    An integer is its own hash, its bucket the remainder by the number of buckets.  A key whose bucket is empty goes
    to the front of the list of all entries, any other to the front of its bucket.  When there are as many entries as
    buckets, the table grows to the next of ``bucket_counts`` and entries are inserted anew in their present order
    (libstdc++ ``hashtable.h``, ``_M_insert_bucket_begin`` and ``_M_rehash``).

    Parameters
    ----------
    keys : uint64 (n,)
        Distinct, in order of insertion.
    bucket_counts : int64 (n_size,)
        Numbers of buckets in order of growth; the last is at least ``n``.
    order : int64 (n,)
        Receives positions in ``keys``, in order of iteration.
    """
    n = keys.shape[0]
    after = np.zeros(n + 1, np.int64)  # 0 ends the list
    size = -1
    before = np.full(1, -1, np.int64)
    for i in range(1, n + 1):
        if size < 0 or i > before.shape[0]:
            size += 1
            before = np.full(bucket_counts[size], -1, np.int64)
            entry = after[0]
            after[0] = 0
            while entry > 0:
                following = after[entry]
                _link(entry, keys[entry - 1] % np.uint64(before.shape[0]), keys, after, before)
                entry = following
        _link(i, keys[i - 1] % np.uint64(before.shape[0]), keys, after, before)
    entry = after[0]
    for i in range(n):
        order[i] = entry - 1
        entry = after[entry]
