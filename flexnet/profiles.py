"""The profile command: writes a measurement file of measured or estimated times."""

import time
from datetime import UTC, datetime

from flexnet.atomic import check_writable
from flexnet.config import ProfileConfig
from flexnet.errors import FlexNetError
from flexnet.measurement import write_measurement
from flexnet.parts import plan_shapes
from flexnet.progress import Display, say, warn
from flexnet.provenance import installed_version, printable
from flexnet.roofline import roofline_table

__all__ = ["run_profile"]


def run_profile(config: ProfileConfig, command_line: list[str]) -> int:
    """Measure or estimate every operator of a model and write the measurement file.

    Returns
    -------
    int
        Exit status: 0, or 130 after Ctrl-C, with what was measured kept for ``--resume``.

    Raises
    ------
    FlexNetError
        If the model cannot be cut over these servers, the device is not there or too small, or the file cannot be
        written; nothing that was measured is lost.
    """
    check_writable(config.output)
    return _estimate(config, command_line) if config.device == "analytic" else _measure(config, command_line)


def _estimate(config: ProfileConfig, command_line: list[str]) -> int:
    cuts = config.cuts
    table = roofline_table(
        config.graph,
        config.gpu,
        n_server=cuts.n_server,
        big_gpu=cuts.big_gpu,
        parameter_parallel=cuts.parameter_parallel,
        attribute_parallel=cuts.attribute_parallel,
        max_local=cuts.max_local,
    )
    write_measurement(config.output, table, provenance=_provenance(config, command_line))
    n_config = sum(map(len, table.entries.values()))
    say(f"wrote {config.output}: {len(table.entries)} operators, {n_config} configs, estimated ({table.source})")
    return 0


def _measure(config: ProfileConfig, command_line: list[str]) -> int:
    shapes = plan_shapes(config.graph, config.cuts)
    _require_torch(config.device)

    from flexnet.profiler.cpu import Cpu
    from flexnet.profiler.cuda import Cuda
    from flexnet.profiler.journal import Journal, journal_path
    from flexnet.profiler.measure import Job, Step, how_well_known, measure_all, table_from, throttled

    device = Cpu(config.dtype) if config.device == "cpu" else Cuda(config.dtype)
    job = Job(shapes, config.cuts.n_server, config.cuts.big_gpu, config.time_cap)
    journal = Journal(journal_path(config.output), {**_identity(config), **device.identity()})
    journal.open(resume=config.resume)
    n_config = len(job.configs)
    say(f"measuring {n_config} configs of {len(shapes)} shapes on {device.name}")
    if journal.found:
        say(f"resumed after {len(journal.found)} of them")
    start = time.monotonic()
    display = Display(n_config, len(journal.found))

    def observe(step: Step) -> None:
        elapsed = time.monotonic() - start
        display.show_step(step.n_done, step.text, elapsed / step.share - elapsed)

    def tell(sentence: str) -> None:
        display.clear()
        warn(sentence)

    try:
        measure_all(job, device, journal, observe=observe, warn=tell)
    except KeyboardInterrupt:
        display.clear()
        say(f"interrupted: {len(journal.found)} of {n_config} configs are kept in {journal.path}; go on with --resume")
        return 130
    finally:
        display.clear()
    table, details = table_from(job, config.graph, journal, device)
    provenance = {
        **_provenance(config, command_line),
        **device.provenance(),
        "throttled": throttled(journal),
        "time_cap_s": config.time_cap,
        "profile_s": round(sum(measured.took for measured in journal.found.values()), 1),
    }
    try:
        write_measurement(config.output, table, provenance=provenance, details=details)
    except FlexNetError as error:
        raise FlexNetError(f"{error}; everything measured is kept in {journal.path}, write it with --resume") from None
    journal.remove()
    say(how_well_known(journal))
    n_key = sum(map(len, table.entries.values()))
    say(
        f"wrote {config.output}: {len(table.entries)} operators, {n_key} configs; {len(table.shapes)} shapes, "
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


def _provenance(config: ProfileConfig, command_line: list[str]) -> dict[str, object]:
    return {
        "generator": "flexnet profile" if config.device != "analytic" else "flexnet roofline",
        "flexnet": installed_version("flexnet"),
        "model": config.graph.name,
        "model_flags": dict(config.model_flags),
        "big_gpu": config.cuts.big_gpu,
        "command_line": [printable(word) for word in command_line],
        "date": datetime.now(UTC).date().isoformat(),
    }


def _identity(config: ProfileConfig) -> dict[str, object]:
    """What the measurements of a profile hang on, beside the device."""
    cuts = config.cuts
    return {
        "flexnet": installed_version("flexnet"),
        "model": config.graph.name,
        "model_flags": dict(config.model_flags),
        "batch_size": config.graph.batch_size,
        "servers": cuts.n_server,
        "big_gpu": cuts.big_gpu,
        "parameter_parallel": cuts.parameter_parallel,
        "attribute_parallel": cuts.attribute_parallel,
        "max_local": cuts.max_local,
        "time_cap_s": config.time_cap,
    }
