"""Which ATen operator is read how."""

import torch

from flexnet.importing.aten import Handler, Tables
from flexnet.importing.aten_layers import LAYERS
from flexnet.importing.aten_light import LIGHT, pointwise, reduction
from flexnet.importing.aten_losses import LOSSES
from flexnet.importing.aten_moves import MOVES
from flexnet.importing.aten_products import PRODUCTS
from flexnet.importing.aten_views import VIEWS
from flexnet.importing.calls import Call

__all__ = ["TABLES"]

_TABLE: dict[str, Handler] = {**MOVES, **PRODUCTS, **LAYERS, **LOSSES}


def _handler_of(call: Call) -> Handler | None:
    """What reads an operator: by its name, else by its tags; None for one that must be decomposed."""
    found = _TABLE.get(call.name)
    if found is not None:
        return found
    if torch.Tag.reduction in call.op.tags and "dim" in {a.name for a in call.op._schema.arguments}:
        return reduction
    if torch.Tag.pointwise in call.op.tags:
        return pointwise
    if torch.Tag.reduction in call.op.tags:
        return reduction
    return LIGHT.get(call.name)


TABLES = Tables(VIEWS, PRODUCTS, _handler_of)
"""For `flexnet.importing.aten.Reader`."""
