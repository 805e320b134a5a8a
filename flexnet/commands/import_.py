"""``flexnet import``: a PyTorch module or an ONNX file as a model file."""

import sys
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from flexnet.commands.console.printing import say
from flexnet.commands.requests.flags import Command
from flexnet.commands.requests.imports import IMPORT_FLAGS, ImportRequest, import_request
from flexnet.commands.runs.versions import installed_version
from flexnet.errors import FlexNetError, counted

if TYPE_CHECKING:
    from flexnet.importing.graphs import Imported

__all__ = ["import_"]


@click.pass_context
def _import(ctx: click.Context, /, words: tuple[str, ...], **values: Any) -> int:
    """Makes a model file of MODEL, for flexnet search and flexnet profile.

    MODEL is package.module:function, which returns a PyTorch module, or an .onnx file.
    """
    request = import_request(words, values)

    from flexnet.files import check_writable
    from flexnet.model.graph_file import Description, write_graph

    check_writable(request.output)
    began = time.perf_counter()
    imported, packages = _from_onnx(request) if request.is_onnx else _from_torch(request)
    source = {
        "model": request.what,
        "inputs": {one.name: f"{one.dtype}:{'x'.join(map(str, one.shape))}" for one in request.inputs},
        "batch_dim": request.batch_dim,
        "packages": {name: installed_version(name) for name in ("flexnet", *packages)},
    }
    flops = {
        work.name: {"forward": work.forward, "backward": work.backward, "counted_backward": work.counted}
        for work in imported.works.values()
    }
    write_graph(request.output, imported.graph, Description(source, flops))
    for line in _report(imported):
        say(line)
    say(f"wrote {request.output} in {time.perf_counter() - began:.1f} s")
    return 0


import_ = Command(
    "import",
    params=[click.Argument(["words"], nargs=-1, metavar="MODEL", required=False), *IMPORT_FLAGS],
    callback=_import,
    help=_import.__doc__,
)


def _report(imported: "Imported") -> list[str]:
    graph = imported.graph
    forward, backward = imported.flops
    idle = f", {graph.idle} of them in no operator" if graph.idle else ""
    blocks = ", ".join(f"{block.count} x {counted(block.length, 'operator')}" for block in graph.blocks)
    return [
        f"{graph.name}, batch {graph.batch_size}: {counted(len(graph.operators), 'operator')}",
        f"parameters {graph.n_parameter}{idle}",
        f"products   {forward / 1e9:.6g} GFLOP forward, {backward / 1e9:.6g} GFLOP backward",
        f"blocks     {blocks or 'none'}",
    ]


def _from_onnx(request: ImportRequest) -> tuple["Imported", tuple[str, ...]]:
    from flexnet.importing.entry import import_onnx

    return import_onnx(request.what, name=request.name, batch_size=request.batch_size), ("onnx",)


def _from_torch(request: ImportRequest) -> tuple["Imported", tuple[str, ...]]:
    from flexnet.importing.entry import import_torch
    from flexnet.importing.inputs import made_inputs, made_module

    function = _function(request.what)
    module = made_module(function, request.what)
    inputs = made_inputs([(one.name, one.dtype, one.shape) for one in request.inputs])
    package = request.what.partition(":")[0].partition(".")[0]
    found = import_torch(module, inputs, name=request.name, batch_dim=request.batch_dim)
    return found, tuple(name for name in ("torch", "transformers", package) if name in sys.modules)


def _function(what: str) -> Any:
    path, _, name = what.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = import_module(path)
    except Exception as error:  # of the user's own code: any
        raise FlexNetError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise FlexNetError(f"{path} has no {name}; name a function of it that returns the module")
        found = getattr(found, part)
    return found
