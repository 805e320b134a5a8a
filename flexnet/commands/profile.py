"""``flexnet profile MODEL``: write a measurement file of measured or estimated times."""

import time
from hashlib import sha256
from typing import TYPE_CHECKING

import click

from flexnet.commands.console.printing import say, warn
from flexnet.commands.console.progress import Display
from flexnet.commands.console.signals import raising
from flexnet.commands.requests.model_command import ModelCommand, model_argument
from flexnet.commands.requests.profile import PROFILE_FLAGS, ProfileRequest, profile_request
from flexnet.commands.runs.versions import installed_version, today
from flexnet.errors import FlexNetError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flexnet.cost.shapes import Shape
    from flexnet.profiler.measure import Step

__all__ = ["profile"]


@click.pass_context
def _profile(ctx: click.Context, /, **_: object) -> int:
    """Writes what every operator of MODEL takes, for flexnet search --mfile."""
    request = profile_request(profile.asked(ctx))
    for sentence in request.warnings:
        warn(sentence)

    from flexnet.files import check_writable

    check_writable(request.output)
    typed: list[str] = ctx.find_object(list) or []
    return _estimate(request, typed) if request.device == "analytic" else _measure(request, typed)


profile = ModelCommand("profile", params=[model_argument(), *PROFILE_FLAGS], callback=_profile, help=_profile.__doc__)


def _estimate(request: ProfileRequest, command_line: list[str]) -> int:
    from flexnet.cost.measurement_file import write_measurement
    from flexnet.cost.roofline import roofline_table

    cuts = request.cuts
    table = roofline_table(
        request.graph,
        request.gpu,
        n_server=cuts.n_server,
        big_gpu=cuts.big_gpu,
        parameter_parallel=cuts.parameter_parallel,
        attribute_parallel=cuts.attribute_parallel,
        max_local=cuts.max_local,
        every=cuts.every,
        dtype=request.dtype,
    )
    write_measurement(request.output, table, provenance=_provenance(request, command_line))
    n_config = sum(map(len, table.entries.values()))
    say(f"wrote {request.output}: {len(table.entries)} operators, {n_config} configs, estimated ({table.source})")
    return 0


def _measure(request: ProfileRequest, command_line: list[str]) -> int:
    from flexnet.cost.measurement_file import write_measurement
    from flexnet.cost.shapes import plan_shapes

    shapes = plan_shapes(request.graph, request.cuts)
    _require_torch(request.device)

    from flexnet.profiler.cpu import Cpu
    from flexnet.profiler.cuda import Cuda
    from flexnet.profiler.journal import Journal, journal_path
    from flexnet.profiler.measure import Job, how_well_known, measure_all, table_from
    from flexnet.profiler.reuse import how_it_was_made, read_before, take_measured

    dtype = request.dtype or request.graph.dtype or "fp32"
    device = Cpu(dtype) if request.device == "cpu" else Cuda(dtype)
    job = Job(shapes, request.cuts.n_server, request.cuts.big_gpu, request.time_cap)
    own = request.output.resolve()
    before = [read_before(path, job, device, own=path.resolve() == own) for path in request.reuse]
    before.sort(key=lambda file: not file.own)
    journal = Journal(journal_path(request.output), {**_identity(request, shapes), **device.identity()})
    journal.open(resume=request.resume)
    n_config = len(job.configs)
    say(f"measuring {n_config} configs of {len(shapes)} shapes on {device.name}")
    if journal.found:
        say(f"resumed after {len(journal.found)} of them")
    for path, taken in take_measured(before, job, journal).items():
        if taken:
            say(f"{taken} of them are taken from {path}")
    start = time.monotonic()
    display = Display(n_config, len(journal.found))

    def observe(step: "Step") -> None:
        elapsed = time.monotonic() - start
        left = elapsed / step.share - elapsed
        display.show_step(step.n_done, step.text, min(max(left, 0.0), max(request.time - elapsed, 0.0)))

    def tell(sentence: str) -> None:
        display.clear()
        warn(sentence)

    with raising() as stopped:
        try:
            n_left = measure_all(job, device, journal, observe=observe, warn=tell, seconds=request.time)
        except KeyboardInterrupt:
            display.clear()
            kept = f"{len(journal.found)} of {n_config} configs are kept in {journal.path}"
            say(f"interrupted: {kept}; go on with --resume")
            return stopped.status if stopped() else 130
        finally:
            display.clear()
    table, details = table_from(job, request.graph, journal, device)
    provenance = {
        **_provenance(request, command_line),
        **device.provenance(),
        "time_cap_s": request.time_cap,
        **how_it_was_made(journal, before),
        **({"unfinished": f"{len(journal.found)} of {n_config} configs"} if n_left else {}),
    }
    try:
        write_measurement(request.output, table, provenance=provenance, details=details)
    except FlexNetError as error:
        raise FlexNetError(f"{error}; everything measured is kept in {journal.path}, write it with --resume") from None
    journal.remove()
    if n_left:
        warn(f"time was up with {n_left} of {n_config} configs to go; measure them with --reuse {request.output}")
    say(how_well_known(journal))
    n_key = sum(map(len, table.entries.values()))
    say(
        f"wrote {request.output}: {len(table.entries)} operators, {n_key} configs; {len(table.shapes)} shapes, "
        f"{sum(map(len, table.shapes.values()))} configs; measured on {device.name}"
    )
    return 0


def _require_torch(device: str) -> None:
    try:
        import torch  # noqa: F401
    except (ImportError, OSError) as error:  # OSError: a library it wants is missing
        absent = isinstance(error, ModuleNotFoundError) and error.name == "torch"
        missing = "which is not installed" if absent else f"which cannot be imported ({error})"
        raise FlexNetError(
            f"--device {device} needs PyTorch, {missing}: pip install torch, or use --device analytic for estimates"
        ) from None


def _provenance(request: ProfileRequest, command_line: list[str]) -> dict[str, object]:
    from flexnet.files import printable

    return {
        "generator": "flexnet profile" if request.device != "analytic" else "flexnet roofline",
        "flexnet": installed_version("flexnet"),
        "model": request.graph.name,
        "model_flags": dict(request.model_flags),
        "big_gpu": request.cuts.big_gpu,
        "command_line": [printable(word) for word in command_line],
        "date": today(),
    }


def _identity(request: ProfileRequest, shapes: "Sequence[Shape]") -> dict[str, object]:
    """What the measurements of a profile hang on, beside the device."""
    cuts, names = request.cuts, [shape.name for shape in shapes]
    return {
        "flexnet": installed_version("flexnet"),
        "model": request.graph.name,
        "model_flags": dict(request.model_flags),
        "digest_of_shapes": sha256(repr(names).encode()).hexdigest()[:16],  # models of one name may be of several files
        "batch_size": request.graph.batch_size,
        "servers": cuts.n_server,
        "big_gpu": cuts.big_gpu,
        "parameter_parallel": cuts.parameter_parallel,
        "attribute_parallel": cuts.attribute_parallel,
        "cuts": "all" if cuts.every else "batch",
        "max_local": cuts.max_local,
        "time_cap_s": request.time_cap,
    }
