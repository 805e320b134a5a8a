"""Configurations: in how many equal parts every dimension of an operator is cut."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from flexnet.exact.domain import Domain
from flexnet.model.cutting import divisors

__all__ = ["configurations", "divisors_with_cutoff"]

Ints = npt.NDArray[np.int64]


def divisors_with_cutoff(size: int, cutoff: int, limit: int) -> list[int]:
    """Divisors of ``size`` that leave parts of at least ``cutoff``, up to ``limit``, ascending; [1] if there is none.

    >>> divisors_with_cutoff(36, 4, 6), divisors_with_cutoff(3, 4, 6)
    ([1, 2, 3, 4, 6], [1])
    """
    return divisors(size, min(size // cutoff, limit)) or [1]


def configurations(domain: Domain, cutoff: int, p: int) -> Ints:
    """All configurations that make at most ``p`` parts (PaSE, section III-A: fewer devices may be used).

    Returns
    -------
    int64 (n_config, n_dim)
        In lexicographic order; the first is the whole operator on one device.
    """
    configs = np.ones((1, 0), np.int64)
    parts = np.ones(1, np.int64)
    for size, cuttable in zip(domain.sizes, domain.cuttable, strict=True):
        options = np.array(divisors_with_cutoff(size, cutoff, p) if cuttable else [1], np.int64)
        product = parts[:, None] * options
        row, column = np.nonzero(product <= p)
        configs = np.column_stack([configs[row], options[column]])
        parts = product[row, column]
    if domain.contiguous:
        configs = configs[_contiguous(configs, domain.sizes)]
    return configs


def _contiguous(configs: Ints, sizes: Iterable[int]) -> npt.NDArray[np.bool_]:
    """Whether the leading dimensions are cut in full, then at most one in part, and the rest not at all."""
    open_ = np.ones(len(configs), np.bool_)
    legal = np.ones(len(configs), np.bool_)
    for column, size in zip(configs.T, sizes, strict=True):
        legal &= open_ | (column == 1)
        open_ &= column == size
    return legal
