"""DLRM, the deep learning recommendation model (arXiv:1906.00091), as FlexNet's ``dlrmsim`` builds it."""

from dataclasses import dataclass

from flexnet.errors import FlexNetError
from flexnet.model.builder import GraphBuilder
from flexnet.model.graph import ModelGraph, OpType
from flexnet.model.zoo.settings import Flag, check_positive, option

__all__ = ["IGNORED_FLAGS", "DlrmSettings", "build_dlrm"]


@dataclass(frozen=True, slots=True)
class DlrmSettings:
    """Sizes of a DLRM."""

    arch_sparse_feature_size: int = option(2, "width of the embedding vectors")
    arch_embedding_size: tuple[int, ...] = option((4,), "entries of each embedding table")
    embedding_bag_size: int = option(1, "indices summed per sample and table")
    arch_mlp_bot: tuple[int, ...] = option((4, 2), "widths of the bottom MLP, input first")
    arch_mlp_top: tuple[int, ...] = option((8, 2), "widths of the top MLP; the first is ignored (it follows)")
    arch_interaction_op: str = option("cat", "how features meet; only cat")
    sigmoid_bot: int = option(-1, "layer of the bottom MLP that ends in sigmoid instead of ReLU; -1 for none")

    def __post_init__(self) -> None:
        check_positive(
            self,
            "arch_sparse_feature_size",
            "arch_embedding_size",
            "embedding_bag_size",
            "arch_mlp_bot",
            "arch_mlp_top",
        )
        if len(self.arch_mlp_top) < 2:
            raise FlexNetError(
                f"--arch-mlp-top has 1 width ({self.arch_mlp_top[0]}); it needs at least 2, the first being ignored"
            )
        if self.arch_interaction_op != "cat":
            raise FlexNetError(f"--arch-interaction-op is {self.arch_interaction_op!r}; only 'cat' exists")
        last = len(self.arch_mlp_bot) - 2
        if not -1 <= self.sigmoid_bot <= last:
            raise FlexNetError(f"--sigmoid-bot is {self.sigmoid_bot}; it must be -1 (none) to {last}, the last layer")


IGNORED_FLAGS = (
    Flag("--loss-threshold", 0.0, "clips the loss in training", effective=False),
    Flag("--sigmoid-top", -1, "the last layer of the top MLP always is the sigmoid one", effective=False),
    Flag("--data-size", -1, "samples of a random data set", effective=False),
)


def build_dlrm(settings: DlrmSettings, batch_size: int) -> ModelGraph:
    """Bottom MLP and embedding tables, joined, then the top MLP.

    >>> [op.key for op in build_dlrm(DlrmSettings(), 64).operators]
    ['Dense_4_2', 'Embed_4x2', 'Concat_1', 'Dense_4_2']
    """
    b = GraphBuilder("dlrm", batch_size)
    bottom, top = settings.arch_mlp_bot, settings.arch_mlp_top
    dense = b.input(bottom[0])
    indices = [b.input(settings.embedding_bag_size, dtype="int64") for _ in settings.arch_embedding_size]
    for i, width in enumerate(bottom[1:]):
        dense = b.dense(dense, width, activation=OpType.SIGMOID if i == settings.sigmoid_bot else OpType.RELU)
    tables = [
        b.embedding(index, entries, settings.arch_sparse_feature_size)
        for index, entries in zip(indices, settings.arch_embedding_size, strict=True)
    ]
    x = b.concat([dense, *tables], axis=1)
    for width in top[1:-1]:
        x = b.dense(x, width, activation=OpType.RELU)
    b.dense(x, top[-1], activation=OpType.SIGMOID)
    return b.build()
