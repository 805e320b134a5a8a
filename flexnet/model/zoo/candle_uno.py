"""CANDLE Uno, which predicts the response of tumors to pairs of drugs, as FlexNet's ``candle_unosim`` builds it."""

from dataclasses import dataclass
from types import MappingProxyType

from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType
from flexnet.model.zoo.settings import check_positive, option

__all__ = ["INPUT_WIDTHS", "CandleUnoSettings", "build_candle_uno"]

INPUT_WIDTHS = MappingProxyType(
    {
        "cell.rnaseq": 942,
        "dose1": 1,
        "dose2": 1,
        "drug1.descriptors": 5270,
        "drug1.fingerprints": 2048,
        "drug2.descriptors": 5270,
        "drug2.fingerprints": 2048,
    }
)


@dataclass(frozen=True, slots=True)
class CandleUnoSettings:
    """Widths of CANDLE Uno's layers."""

    dense_layers: tuple[int, ...] = option((4192, 4192, 4192), "widths of the layers after the join")
    dense_feature_layers: tuple[int, ...] = option((4192, 4192, 4192), "widths of the layers of each feature")

    def __post_init__(self) -> None:
        check_positive(self)


def build_candle_uno(settings: CandleUnoSettings, batch_size: int) -> ModelGraph:
    """Return a tower of layers for each feature but the doses, joined with the doses, then dense layers to one value.

    >>> settings = CandleUnoSettings(dense_layers=(16,), dense_feature_layers=(8,))
    >>> build_candle_uno(settings, 64).operators[5].outputs[0].dims
    (42, 64)
    """
    b = GraphBuilder("candle_uno", batch_size)
    features = []
    for name, width in INPUT_WIDTHS.items():
        x = b.input(width)
        if not name.startswith("dose"):
            for out in settings.dense_feature_layers:
                x = b.dense(x, out, activation=OpType.RELU)
        features.append(x)
    x = b.concat(features, axis=1)
    for out in settings.dense_layers:
        x = b.dense(x, out, activation=OpType.RELU)
    b.dense(x, 1)
    return b.build()
