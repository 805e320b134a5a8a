"""Strategy files: flexnet's JSON and the original's text format, both ways (strategy.cc:95 and 146)."""

from math import prod
from pathlib import Path

import orjson

from flexnet.errors import FlexNetError
from flexnet.files import read_regular
from flexnet.model.graph import ModelGraph
from flexnet.plan.strategy import Config

__all__ = ["config_document", "parse_strategy", "read_strategy", "strategy_json", "strategy_text"]

FORMAT = "flexnet-strategy"
VERSION = 1


def strategy_json(
    graph: ModelGraph, configs: list[Config], *, estimated: bool | None = None, times: str | None = None
) -> bytes:
    """The strategy as versioned JSON, one entry per operator in model order.

    Parameters
    ----------
    graph : ModelGraph
    configs : list of Config
        In model order.
    estimated : bool, optional
        Whether the operator times it was chosen by are estimates; None leaves it out.
    times : str, optional
        Where those times come from; None leaves it out.
    """
    operators = [
        {"name": op.name, "key": op.key, **config_document(config)}
        for op, config in zip(graph.operators, configs, strict=True)
    ]
    origin = {name: value for name, value in (("estimated", estimated), ("times", times)) if value is not None}
    document = {"format": FORMAT, "version": VERSION, "model": graph.name, **origin, "operators": operators}
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def config_document(config: Config) -> dict[str, object]:
    """A config as JSON can hold it; what its gradients wait for only if they do."""
    after = {} if config.after is None else {"after": config.after}
    return {"degrees": list(config.degrees), "devices": list(config.devices), **after}


def strategy_text(graph: ModelGraph, configs: list[Config]) -> str:
    """The strategy as the original writes it (strategy.cc:146): operators by name in byte order.

    What gradients wait for is left out: the original has no such thing.

    Raises
    ------
    FlexNetError
        If an operator is cut along a reduction, of which the original does not know.
    """
    for op, config in zip(graph.operators, configs, strict=True):
        if len(config.degrees) > op.rank:
            raise FlexNetError(
                f"operator {op.name} is cut along its input channels, which the original's text format cannot say; "
                "write the strategy to a file that ends in .json"
            )
    named = sorted(zip((op.name for op in graph.operators), configs, strict=True), key=lambda item: item[0].encode())
    lines = [str(len(named))]
    for name, config in named:
        lines += [name, "0", str(len(config.degrees)), "".join(f"{d}\t" for d in config.degrees)]
        lines += [str(len(config.devices)), "".join(f"{d}\t" for d in config.devices)]
    return "\n".join(lines) + "\n"


def read_strategy(path: str | Path) -> dict[str, Config]:
    """Configs by operator name from a file in either format.

    Raises
    ------
    FlexNetError
        If the file cannot be read or is neither format.
    """
    try:
        return parse_strategy(read_regular(Path(path)), str(path))
    except OSError as error:
        raise FlexNetError(f"cannot read strategy file {path}: {error.strerror or error}") from error


def parse_strategy(data: bytes, source: str) -> dict[str, Config]:
    """Configs by operator name from the bytes of a strategy file; ``source`` names it in errors."""
    if data.lstrip()[:1] == b"{":
        return _parse_json(data, source)
    return _parse_text(data, source)


def _parse_json(data: bytes, source: str) -> dict[str, Config]:
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise FlexNetError(f"strategy file {source} is not valid JSON: {error}") from error
    if document.get("format") != FORMAT or document.get("version") != VERSION:
        raise FlexNetError(f'strategy file {source} must say "format": "{FORMAT}", "version": {VERSION}')
    if not isinstance(document.get("estimated", False), bool):
        raise FlexNetError(f'strategy file {source}: "estimated" must be true or false')
    operators = document.get("operators")
    if not isinstance(operators, list):
        raise FlexNetError(f'strategy file {source} must hold a list "operators"')
    configs: dict[str, Config] = {}
    for i, item in enumerate(operators):
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str):
            raise FlexNetError(f"operator {i} of strategy file {source} has no name")
        after = item.get("after")
        if not isinstance(after, str | None):
            raise FlexNetError(f'strategy file {source}: "after" of operator {name} must be the name of an operator')
        _add(configs, name, item.get("degrees"), item.get("devices"), source, after)
    return configs


def _parse_text(data: bytes, source: str) -> dict[str, Config]:
    try:
        words = iter(data.decode().split())
    except UnicodeDecodeError as error:
        raise FlexNetError(f"strategy file {source} is neither JSON nor text") from error
    configs: dict[str, Config] = {}
    try:
        for _ in range(int(next(words))):
            name = next(words)
            if next(words) != "0":
                raise FlexNetError(f"strategy file {source}: operator {name} is not on a GPU (device type 0)")
            degrees = [int(next(words)) for _ in range(int(next(words)))]
            devices = [int(next(words)) for _ in range(int(next(words)))]
            _add(configs, name, degrees, devices, source)
    except StopIteration:
        raise FlexNetError(f"strategy file {source} ends after {len(configs)} operators; it is cut off") from None
    except ValueError as error:
        if isinstance(error, FlexNetError):
            raise
        raise FlexNetError(
            f"strategy file {source}, operator {len(configs)}: a number was expected: {error}"
        ) from error
    if next(words, None) is not None:
        raise FlexNetError(f"strategy file {source} goes on after its {len(configs)} operators")
    return configs


def _add(
    configs: dict[str, Config], name: str, degrees: object, devices: object, source: str, after: str | None = None
) -> None:
    for what, values, least in (("degrees", degrees, 1), ("devices", devices, 0)):
        if not isinstance(values, list) or not all(type(v) is int and v >= least for v in values):
            raise FlexNetError(f"strategy file {source}: {what} of operator {name} must be integers of {least} or more")
    assert isinstance(degrees, list)
    assert isinstance(devices, list)
    if name in configs:
        raise FlexNetError(f"strategy file {source} has operator {name} twice")
    if len(devices) != prod(degrees):
        raise FlexNetError(
            f"strategy file {source}: operator {name} is cut into {prod(degrees)} parts but has {len(devices)} devices"
        )
    if len(set(devices)) != len(devices):
        raise FlexNetError(f"strategy file {source}: operator {name} has two parts on one server")
    configs[name] = Config(tuple(degrees), tuple(devices), after)
