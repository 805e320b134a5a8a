"""Neural collaborative filtering (arXiv:1708.05031), as FlexNet's ``ncfsim`` builds it."""

from dataclasses import dataclass

from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType
from flexnet.model.zoo.settings import MOST_REPEATS, Flag, check_positive, option

__all__ = ["IGNORED_FLAGS", "NcfSettings", "build_ncf"]


@dataclass(frozen=True, slots=True)
class NcfSettings:
    """Sizes of an NCF model."""

    unum_per_table: int = option(2, "users of a table", name="--unum_per_table")
    inum_per_table: int = option(2, "items of a table", name="--inum_per_table")
    factor_num: int = option(16, "width of the factorization embeddings", name="--factor_num")
    edim_per_table: int = option(16, "width of the MLP embeddings", name="--edim_per_table")
    ntables: int = option(4, "tables of each of the four kinds", most=MOST_REPEATS)
    embedding_bag_size: int = option(1, "indices summed per sample and table")
    arch_mlp_top: tuple[int, ...] = option((8, 2), "widths of the MLP; the first is ignored (it follows)")

    def __post_init__(self) -> None:
        check_positive(self)
        if len(self.arch_mlp_top) < 2:
            raise FlexNetError(
                f"--arch-mlp-top has 1 width ({self.arch_mlp_top[0]}); it needs at least 2, the first being ignored"
            )


IGNORED_FLAGS = (
    Flag("--loss-threshold", 0.0, "clips the loss in training", effective=False),
    Flag("--sigmoid-top", -1, "the last layer of the MLP always is the sigmoid one", effective=False),
    Flag("--sigmoid-bot", -1, "there is no bottom MLP", effective=False),
    Flag("--arch-interaction-op", "cat", "features are always joined", effective=False),
    Flag("--data-size", -1, "samples of a random data set", effective=False),
)


def build_ncf(settings: NcfSettings, batch_size: int) -> ModelGraph:
    """Generalized matrix factorization beside an MLP, both over user and item embeddings.

    >>> build_ncf(NcfSettings(), 64).operators[19].name
    'gmf_119'
    """
    b = GraphBuilder("ncf", batch_size)
    indices = [b.input(settings.embedding_bag_size, dtype="int64") for _ in range(settings.ntables)]
    users, items = settings.unum_per_table, settings.inum_per_table
    user_gmf, item_gmf, user_mlp, item_mlp = (
        [b.embedding(index, entries, width) for index in indices]
        for entries, width in (
            (users, settings.factor_num),
            (items, settings.factor_num),
            (users, settings.edim_per_table),
            (items, settings.edim_per_table),
        )
    )
    mlp = b.concat([*user_mlp, *item_mlp], axis=1)
    gmf = b.binary(OpType.MUL, b.concat(user_gmf, axis=1), b.concat(item_gmf, axis=1), inplace=False, name="gmf")
    gmf = b.dense(gmf, 1, bias=False, activation=OpType.SIGMOID)
    top = settings.arch_mlp_top
    for width in top[1:-1]:
        mlp = b.dense(mlp, width, activation=OpType.RELU)
    mlp = b.dense(mlp, top[-1], activation=OpType.SIGMOID)
    b.dense(b.concat([gmf, mlp], axis=1), 1, activation=OpType.SIGMOID)
    return b.build()
