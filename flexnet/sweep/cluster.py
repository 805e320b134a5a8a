"""Points computed by a Dask cluster, which goes on when this process dies."""

from collections.abc import Sequence
from typing import Any

from flexnet.errors import FlexNetError
from flexnet.sweep.extra import check_extra
from flexnet.sweep.store import Store
from flexnet.sweep.task import Done, Task, accept
from flexnet.sweep.worker import compute

__all__ = ["check_scheduler", "compute_there"]

TIMEOUT_S = 10.0


def check_scheduler(scheduler: str) -> None:
    """Refuse a scheduler that cannot be reached.

    Raises
    ------
    FlexNetError
        With the reason.
    """
    check_extra("distributed")
    _client(scheduler).close()


def compute_there(tasks: Sequence[Task], work: str, store: Store, token: str, *, scheduler: str, done: Done) -> None:
    """Compute points on the workers of a Dask scheduler, which starts a point again when a worker dies.

    Points have their hashes for keys, and the scheduler holds them until all are here: if this process is killed, they
    are computed all the same, and the next one that asks for them finds them done or under way.  Workers that see the
    directory of the store also keep their rows there themselves.

    Parameters
    ----------
    tasks, work, store, token, done
        As of `flexnet.sweep.local.compute_here`.
    scheduler : str
        Its address: ``tcp://host:port``.

    Raises
    ------
    FlexNetError
        If it cannot be reached, or its workers have no flexnet.
    """
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    with _client(scheduler) as client:
        texts = {task.key: task.text(store, token) for task in tasks}
        futures = {
            client.submit(compute, work, texts[task.key], key=f"flexnet-{task.key}", pure=True): task for task in tasks
        }
        name = f"flexnet-{token}"
        client.publish_dataset(list(futures), name=name, override=True)
        for future in futures:
            if future.status == "error":  # of an earlier process: it is to be tried again
                future.retry()
        try:
            for future in as_completed(list(futures), loop=client.loop):
                task = futures[future]
                try:
                    accept(task, future.result(), store, done)
                except KilledWorker:
                    done(task, "its worker died again and again")
                except ModuleNotFoundError as error:
                    raise FlexNetError(
                        f"the workers of {scheduler} cannot import {error.name}; install it there"
                    ) from None
        finally:
            client.unpublish_dataset(name)


def _client(scheduler: str) -> Any:
    from distributed import Client

    try:
        return Client(scheduler, timeout=TIMEOUT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FlexNetError(
            f"cannot reach the scheduler {scheduler}: {reason}; start one with dask scheduler, and name it tcp://host:port"
        ) from None
