"""The profile command: writes a measurement file of estimated times."""

from datetime import UTC, datetime

from flexnet.config import ProfileConfig
from flexnet.measurement import write_measurement
from flexnet.outputs import check_writable
from flexnet.progress import say
from flexnet.provenance import installed_version, printable
from flexnet.roofline import profile_analytic

__all__ = ["run_profile"]


def run_profile(config: ProfileConfig, command_line: list[str]) -> int:
    """Estimate every operator of a model and write the measurement file.

    Returns
    -------
    int
        Exit status 0.

    Raises
    ------
    FlexNetError
        If the model cannot be cut over these servers, or the file cannot be written.
    """
    check_writable(config.output)
    table = profile_analytic(
        config.graph,
        config.gpu,
        n_server=config.n_server,
        big_gpu=config.big_gpu,
        parameter_parallel=config.parameter_parallel,
        max_local=config.max_local,
    )
    provenance = {
        "flexnet": installed_version("flexnet"),
        "model": config.graph.name,
        "model_flags": dict(config.model_flags),
        "big_gpu": config.big_gpu,
        "command_line": [printable(word) for word in command_line],
        "date": datetime.now(UTC).date().isoformat(),
    }
    write_measurement(config.output, table, provenance=provenance)
    n_config = sum(map(len, table.entries.values()))
    say(f"wrote {config.output}: {len(table.entries)} operators, {n_config} configs, estimated ({table.source})")
    return 0
