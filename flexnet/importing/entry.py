"""`from_torch` and `from_onnx`, which need PyTorch and onnx only when they are called."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexnet.errors import FlexNetError
from flexnet.model.graph import ModelGraph

if TYPE_CHECKING:
    from flexnet.importing.graphs import Imported

__all__ = ["from_onnx", "from_torch", "import_onnx", "import_torch", "require"]


def from_torch(
    module: Any,
    example_inputs: Sequence[Any] | Mapping[str, Any],
    *,
    name: str | None = None,
    batch_dim: int = 0,
) -> ModelGraph:
    """The graph of a PyTorch module, traced on its shapes: no GPU, and on the meta device no memory for weights.

    Parameters
    ----------
    module : torch.nn.Module
        Constructed under ``torch.device("meta")``, or anywhere.
    example_inputs : sequence, or mapping by name
        What the module is called with.  Of tensors, shapes and types alone matter; the batch of the graph is theirs.
    name : str, optional
        Of the model; the name of the module's class unless given.
    batch_dim : int
        The dimension of every input tensor that holds the batch.

    Returns
    -------
    ModelGraph
        Its operators are named after the modules they are in.

    Raises
    ------
    FlexNetError
        If PyTorch is not installed, the module cannot be traced, or has an operator that flexnet does not know.
    """
    return import_torch(module, example_inputs, name=name, batch_dim=batch_dim).graph


def import_torch(
    module: Any, example_inputs: Sequence[Any] | Mapping[str, Any], *, name: str | None = None, batch_dim: int = 0
) -> "Imported":
    """As `from_torch`, with what was counted on the way."""
    require("torch", "PyTorch")
    from flexnet.importing.pytorch import import_module

    return import_module(module, example_inputs, name=name or type(module).__name__, batch_dim=batch_dim)


def from_onnx(path: str | Path, *, name: str | None = None, batch_size: int | None = None) -> ModelGraph:
    """The graph of an ONNX file; weights beside it are not loaded.

    Parameters
    ----------
    path : str or Path
    name : str, optional
        Of the model; that of the file unless given.
    batch_size : int, optional
        Where the file leaves the size of the first dimension of its inputs open.

    Raises
    ------
    FlexNetError
        If onnx or PyTorch is not installed, the file is none, or the shapes of its tensors are not known.
    """
    return import_onnx(path, name=name, batch_size=batch_size).graph


def import_onnx(path: str | Path, *, name: str | None = None, batch_size: int | None = None) -> "Imported":
    """As `from_onnx`, with what was counted on the way."""
    require("onnx", "onnx")
    require("torch", "PyTorch")  # whose operators those of a file are read as
    from flexnet.importing.onnx_file import import_file

    return import_file(Path(path), name=name, batch_size=batch_size)


def require(package: str, spoken: str) -> None:
    """Refuse to go on without a package.

    Raises
    ------
    FlexNetError
        If it cannot be imported.
    """
    from importlib import import_module

    try:
        import_module(package)
    except (ImportError, OSError) as error:  # OSError: a library it wants is missing
        absent = isinstance(error, ModuleNotFoundError) and error.name == package
        missing = "which is not installed" if absent else f"which cannot be imported ({error})"
        raise FlexNetError(f"importing this model needs {spoken}, {missing}: pip install flexnet[import]") from None
