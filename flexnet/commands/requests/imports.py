"""What ``flexnet import`` was asked to do: its flags, and the module and inputs they become."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from flexnet.commands.requests.flags import Flag
from flexnet.commands.requests.limits import MAX_COUNT
from flexnet.commands.requests.types import FilePath, Whole
from flexnet.errors import FlexNetError

__all__ = ["IMPORT_FLAGS", "ImportRequest", "InputSpec", "import_request"]

_INPUT = re.compile(r"(?P<name>[A-Za-z_]\w*):(?P<dtype>[a-z]+[0-9]*):(?P<shape>[0-9]+(x[0-9]+)*)")
MAX_ELEMENTS = 10**15  # of an input: products of a few of these are still 64-bit numbers
_TYPES = ("float32", "bfloat16", "float16", "float64", "int64", "int32", "bool")

IMPORT_FLAGS = [
    Flag(
        ["inputs", "--input"],
        metavar="NAME:TYPE:SIZES[,...]",
        help="inputs by name, as tokens:int64:8x2048, or image:float32:64x3x224x224; several joined by commas",
        is_list=True,
    ),
    Flag(
        ["batch_dim", "--batch-dim"],
        type=Whole(0, 8),
        default=0,
        metavar="N",
        help="dimension of every input that holds the batch (default 0)",
    ),
    Flag(
        ["batch_size", "--batch-size", "-b"],
        type=Whole(1, MAX_COUNT),
        metavar="N",
        help="samples, where an ONNX file leaves them open",
    ),
    Flag(["name", "--name"], metavar="WORD", help="what the model is called (default: its class, function or file)"),
    Flag(
        ["output", "--output", "-o"],
        type=FilePath(),
        metavar="FILE",
        help="model file to write (default NAME.json, if it is not there)",
    ),
]


@dataclass(frozen=True, slots=True)
class InputSpec:
    """One input: its name, element type as PyTorch's, and sizes."""

    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """A model to import.

    Parameters
    ----------
    what : str
        ``package.module:function``, or an ``.onnx`` file.
    inputs : tuple of InputSpec
    batch_dim : int
    batch_size : int or None
    name : str
    output : Path
    """

    what: str
    inputs: tuple[InputSpec, ...]
    batch_dim: int
    batch_size: int | None
    name: str
    output: Path

    @property
    def is_onnx(self) -> bool:
        """Whether a file is to be read."""
        return self.what.endswith(".onnx")


def import_request(words: Sequence[str], values: dict[str, Any]) -> ImportRequest:
    """Make sense of what was asked.

    Raises
    ------
    FlexNetError
        If the model or its inputs are missing or malformed, or the default file is there.
    """
    example = "flexnet import mypackage.net:make_model --input tokens:int64:8x2048 -o net.json"
    if not words:
        raise FlexNetError(f"no model given; name a function that makes one, or an .onnx file, as in {example}")
    if len(words) > 1:
        raise FlexNetError(
            f"unexpected argument {words[1]!r} after {words[0]}; flexnet import takes one model and flags"
        )
    what, onnx = words[0], words[0].endswith(".onnx")
    module, colon, function = what.partition(":")
    if not onnx and not (colon and module and function):
        raise FlexNetError(
            f"{what!r} is no model; it must be package.module:function, or an .onnx file, as in {example}"
        )
    if not onnx and values["inputs"] is None:
        raise FlexNetError(f"--input is missing; a PyTorch module is traced with inputs, as in {example}")
    if onnx and values["inputs"] is not None:
        raise FlexNetError(
            "--input has no meaning for an ONNX file, which has its own; --batch-size sets an open batch"
        )
    if not onnx and values["batch_size"] is not None:
        raise FlexNetError("--batch-size is for ONNX files; of a PyTorch module, the sizes of --input have the batch")
    name = values["name"] or (Path(what).stem if onnx else function.rpartition(".")[2])
    output = values["output"]
    if output is None:
        output = Path(f"{name}.json")
        if output.exists():
            raise FlexNetError(f"{output} exists; name the file to write with -o")
    inputs = tuple(_input(text) for text in (values["inputs"] or "").split(",") if text)
    twice = next((one.name for i, one in enumerate(inputs) if one.name in [x.name for x in inputs[:i]]), None)
    if twice is not None:
        raise FlexNetError(f"--input names {twice} twice")
    return ImportRequest(what, inputs, values["batch_dim"], values["batch_size"], name, output)


def _input(text: str) -> InputSpec:
    found = _INPUT.fullmatch(text.strip())
    if found is None:
        raise FlexNetError(f"--input is {text!r}; it must be NAME:TYPE:SIZES, as tokens:int64:8x2048")
    if found["dtype"] not in _TYPES:
        raise FlexNetError(
            f"--input {found['name']} has type {found['dtype']!r}; it must be one of {', '.join(_TYPES)}"
        )
    shape = tuple(map(int, found["shape"].split("x")))
    if min(shape) < 1:
        raise FlexNetError(f"--input {found['name']} has sizes {found['shape']}; each must be at least 1")
    if max(shape) > MAX_COUNT or prod(shape) > MAX_ELEMENTS:
        raise FlexNetError(
            f"--input {found['name']} has sizes {found['shape']}; each must be at most {MAX_COUNT}, and all together "
            f"{MAX_ELEMENTS:.0e} elements"
        )
    return InputSpec(found["name"], found["dtype"], shape)
