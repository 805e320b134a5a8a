"""All-reduces of the gradients of weights, in the original's order; of one that operators share, for all of them."""

from math import gcd

from flexnet.kernels import inlined
from flexnet.plan.kernels.buckets import join_bucket
from flexnet.plan.kernels.records import add_record, add_task
from flexnet.plan.task_kinds import ALLREDUCE

__all__ = ["add_all_reduces"]


@inlined
def add_all_reduces(problem, strategy, work, op, weight):  # type: ignore[no-untyped-def]
    """Those of a weight of an operator; none of a weight that one before it has."""
    if problem.user_ptr[weight] < problem.user_ptr[weight + 1]:
        _add_shared(problem, strategy, work, op, weight)
    elif not problem.weight_is_tied[weight]:
        _add_own(problem, strategy, work, op, weight)


@inlined
def _add_own(problem, strategy, work, op, weight):  # type: ignore[no-untyped-def]
    """One all-reduce for every distinct shard of a weight, among the parts that have it.

    The parts of a reduction that hold the same shard have groups of their own: each has all of its gradient.
    """
    candidate = problem.candidate_ptr[op] + strategy.choice[op]
    reduction = problem.rank[op]
    shards = 1
    groups = 1
    for k in range(reduction + 1):
        if problem.weight_cut[weight, k]:
            shards *= problem.degrees[candidate, k]
            groups *= problem.degrees[candidate, k]
        elif k == reduction:
            groups *= problem.degrees[candidate, k]
    size = problem.weight_bytes[weight] // shards
    members = problem.parts[candidate] // groups
    for number in range(groups):
        first_record = work.n_record[0]
        task = _begin_group(problem, work, op, weight, size)
        for i in range(members):
            j = i
            if groups > 1:  # the i-th part whose coordinates in dimensions with groups of their own are `number`
                j, stride, fixed, free = 0, 1, number, i
                for k in range(reduction + 1):
                    degree = problem.degrees[candidate, k]
                    if problem.weight_cut[weight, k] or k == reduction:
                        j += fixed % degree * stride
                        fixed //= degree
                    else:
                        j += free % degree * stride
                        free //= degree
                    stride *= degree
            _add_member(work, strategy.devices[op, j])
            _wait_for(problem, work, op, j, task)
        _end_group(problem, strategy, work, op, task, first_record)


@inlined
def _add_shared(problem, strategy, work, op, weight):  # type: ignore[no-untyped-def]
    """One all-reduce for every piece of a weight, among all servers where parts of any of its users have it.

    Pieces are so small that every shard of every user consists of whole ones.
    """
    begin, end = problem.user_ptr[weight], problem.user_ptr[weight + 1]
    n_piece = 1
    for dim in range(work.pieces.shape[0]):
        work.pieces[dim] = _common_pieces(problem, strategy, begin, end, dim)
        n_piece *= work.pieces[dim]
    size = problem.weight_bytes[weight] // n_piece
    own = problem.candidate_ptr[op] + strategy.choice[op]
    for number in range(n_piece):
        first_record = work.n_record[0]
        task = _begin_group(problem, work, op, weight, size)
        first = work.n_member[0]
        for user in range(begin, end):
            other = problem.user_op[user]
            candidate = problem.candidate_ptr[other] + strategy.choice[other]
            for j in range(problem.parts[candidate]):
                if _holds(problem, work, candidate, user, j, number):
                    server = strategy.devices[other, j]
                    alike = j < problem.parts[own] and strategy.devices[op, j] == server
                    alike = alike and _holds(problem, work, own, begin, j, number)  # soon told, as most are
                    if user == begin or not (alike or _is_member(work, first, server)):
                        _add_member(work, server)
                    _wait_for(problem, work, other, j, task)
        _end_group(problem, strategy, work, op, task, first_record)


@inlined
def _common_pieces(problem, strategy, begin, end, dim):  # type: ignore[no-untyped-def]
    """Into how many pieces a dimension of a weight is cut: the least common multiple over its users."""
    n = 1
    for user in range(begin, end):
        axis = problem.user_cut[user, dim]
        if axis >= 0:
            op = problem.user_op[user]
            degree = problem.degrees[problem.candidate_ptr[op] + strategy.choice[op], axis]
            n = n // gcd(n, degree) * degree
    return n


@inlined
def _holds(problem, work, candidate, user, part, number):  # type: ignore[no-untyped-def]
    """Whether a part of a user has a piece of a weight."""
    for dim in range(work.pieces.shape[0]):
        n = work.pieces[dim]
        axis = problem.user_cut[user, dim]
        if axis >= 0:
            stride = 1
            for k in range(axis):
                stride *= problem.degrees[candidate, k]
            degree = problem.degrees[candidate, axis]
            if number % n * degree // n != part // stride % degree:
                return False
        number //= n
    return True


@inlined
def _begin_group(problem, work, op, weight, size):  # type: ignore[no-untyped-def]
    """Add an all-reduce of so many bytes with a group of its own, which is empty; return its number."""
    group = work.n_group[0]
    work.n_group[0] = group + 1
    return add_task(work, ALLREDUCE, group, _seconds_in_server(problem, weight, size), size, 2 * op)


@inlined
def _wait_for(problem, work, op, part, task):  # type: ignore[no-untyped-def]
    """Let an all-reduce wait for the gradients of a part, of all micro-batches."""
    for batch in range(problem.micro_batches):
        add_record(work, work.first[op] + 2 * part + 1 + batch * work.n_part[0], task)


@inlined
def _is_member(work, first, server):  # type: ignore[no-untyped-def]
    """Whether a server is in the latest group, which begins at ``first``."""
    end = min(work.n_member[0], work.group.shape[0])
    while first < end and work.group[first] != server:
        first += 1
    return first < end


@inlined
def _add_member(work, server):  # type: ignore[no-untyped-def]
    """Add a server to the latest group."""
    member = work.n_member[0]
    work.n_member[0] = member + 1
    if member < work.group.shape[0]:
        work.group[member] = server


@inlined
def _end_group(problem, strategy, work, op, task, first_record):  # type: ignore[no-untyped-def]
    """The latest all-reduce, whose members and first records are there: it may wait, and may join a bucket."""
    after = strategy.after[op]
    if after >= 0:
        for j in range(problem.parts[problem.candidate_ptr[after] + strategy.choice[after]]):
            _wait_for(problem, work, after, j, task)
    if work.n_group[0] < work.group_ptr.shape[0]:
        work.group_ptr[work.n_group[0]] = work.n_member[0]
    if problem.bucket_bytes > 0:
        join_bucket(problem, strategy, work, op, first_record)


@inlined
def _seconds_in_server(problem, weight, size):  # type: ignore[no-untyped-def]
    """Seconds the GPUs of one server need to reduce ``size`` bytes of a weight among themselves."""
    gpus = problem.weight_gpus[weight]
    if gpus == 0:
        return 0.0
    if problem.exact_intra_server:
        return 2.0 * (gpus - 1) / gpus * (size / problem.weight_pieces[weight]) / problem.inter_gpu_bandwidth
    return (2 * size // gpus) / problem.inter_gpu_bandwidth  # simulator.cc:1827 divides bytes as integers
