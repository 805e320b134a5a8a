"""PyTorch modules as graphs of ATen operators, by `torch.export` (non-strict) and without weights in memory."""

import copy
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any

import torch

from flexnet.errors import FlexNetError
from flexnet.importing.known import KnownValues

__all__ = ["exported", "tensors_in"]


class _Tensors(torch.nn.Module):  # type: ignore[misc]
    """A module that returns the tensors of what another returns: no caches, no classes of its own."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, ...]:
        with KnownValues():
            return tuple(tensors_in(self.module(*args, **kwargs)))


def tensors_in(result: Any) -> Iterator[torch.Tensor]:
    """All tensors in tuples, lists and mappings, in order; what else is returned is no result of a training step."""
    if isinstance(result, torch.Tensor):
        yield result
    elif isinstance(result, Mapping):
        for value in result.values():
            yield from tensors_in(value)
    elif isinstance(result, tuple | list):
        for value in result:
            yield from tensors_in(value)


def exported(module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> "torch.export.ExportedProgram":
    """Trace a module; names of its parameters begin with ``module.``.

    A module of which a part is on another device, as some constructors make it, is traced as if on the meta device.
    What can be traced in evaluation alone, as one that leaves out layers by chance (layer drop), is traced so.

    Raises
    ------
    FlexNetError
        If it cannot be traced: control flow that hangs on values, kernels without a meta implementation, inputs that
        do not fit.
    """
    held = [*module.parameters(), *module.buffers()]
    devices = {one.device for one in held}
    device = next(iter(devices), torch.device("cpu")) if len(devices) < 2 else torch.device("meta")
    if len(devices) > 1:
        module = copy.deepcopy(module, {id(one): _placed(one, device) for one in held})
    args, kwargs = [_placed(one, device) for one in args], {name: _placed(one, device) for name, one in kwargs.items()}
    try:
        with device, _silence():  # what the module makes on the way, it makes there
            return _exported(module, args, kwargs)
    except Exception as error:  # of the module's own code: any
        program = _without_chance(module, args, kwargs, device)
        if program is None:
            raise FlexNetError(_why(error)) from error
        return program


def _without_chance(
    module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any], device: torch.device
) -> "torch.export.ExportedProgram | None":
    """Trace a module that in training leaves out layers by chance as in evaluation; None if that cannot be either."""
    training = [one for one in module.modules() if one.training]
    if not training:
        return None
    try:
        module.eval()
        with device, _silence():
            return _exported(module, args, kwargs)
    except Exception:  # the first error says why
        return None
    finally:
        for one in training:
            one.training = True


def _placed(one: Any, device: torch.device) -> Any:
    """A tensor on another device, without its values; what is no tensor, or is there, as it is."""
    if not isinstance(one, torch.Tensor) or one.device == device:
        return one
    made = torch.empty_like(one, device=device)
    return torch.nn.Parameter(made, one.requires_grad) if isinstance(one, torch.nn.Parameter) else made


@contextmanager
def _silence() -> Iterator[None]:
    """Nothing that PyTorch prints and logs of what it cannot trace; the error has it."""
    nowhere = StringIO()
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with redirect_stdout(nowhere), redirect_stderr(nowhere), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _exported(
    module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> "torch.export.ExportedProgram":
    return torch.export.export(_Tensors(module), tuple(args), dict(kwargs), strict=False)


def _why(error: Exception) -> str:
    said = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    text = str(error)
    where = _own_line(error)
    if any(word in text for word in ("data-dependent", "GuardOnDataDependent", "unbacked", ".item()")):
        return (
            f"the module decides by values of tensors{where}, which are not known without running it; replace the "
            f"branch or loop by torch.where or by sizes ({said[:200]})"
        )
    if "meta" in text.lower() and ("NotImplemented" in type(error).__name__ or "fake" in text.lower()):
        return (
            f"the module runs a kernel that knows no shapes{where}; give it a fake implementation by "
            f"torch.library.register_fake, or replace it by operators of PyTorch ({said[:200]})"
        )
    return f"the module cannot be traced{where}: {type(error).__name__}: {said[:300]}"


def _own_line(error: BaseException) -> str:
    """Where in the module's code an error came from, as `` at file:line``."""
    place = ""
    trace = error.__traceback__
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if "/torch/" not in path and "/flexnet/importing/" not in path and not path.startswith("<"):
            place = f" at {path.rpartition('/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
