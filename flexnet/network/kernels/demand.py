"""What tasks send, summed up."""

from flexnet.kernels import kernel
from flexnet.plan.task_kinds import ALLREDUCE, NOMINAL_COMM

__all__ = ["sum_up"]


@kernel
def sum_up(tasks, pairs, sizes, groups, same_as):  # type: ignore[no-untyped-def]
    """Bytes by pair of servers, by group size, and by group.

    Parameters
    ----------
    tasks : flexnet.plan.arrays.TaskArrays
    pairs : float64 (n_server * n_server,)
    sizes : float64 (n_server + 1,)
    groups : float64 (n_group,)
        These three are added to; a group's bytes to those of the first group of the same members.
    same_as : int64 (n_group,)
        Which one that is.
    """
    for task in range(tasks.kind.shape[0]):
        place = tasks.place[task]
        if tasks.kind[task] == NOMINAL_COMM:
            pairs[place] += tasks.bytes[task]
        elif tasks.kind[task] == ALLREDUCE:
            sizes[tasks.group_ptr[place + 1] - tasks.group_ptr[place]] += tasks.bytes[task]
            groups[same_as[place]] += tasks.bytes[task]
