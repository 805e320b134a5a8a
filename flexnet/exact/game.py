"""Matrix games: the mixture of rows whose least entry is largest, nearly."""

import numpy as np
import numpy.typing as npt

__all__ = ["play"]

Floats = npt.NDArray[np.float64]


def play(payoff: Floats, rounds: int = 600) -> tuple[Floats, Floats]:
    """Nearly optimal mixtures of rows (to maximise) and of columns (to minimise).

    Regret matching that forgets negative regrets, players in turn, later rounds weighing more in the mean (CFR+:
    Tammelin et al., IJCAI 2015).

    Parameters
    ----------
    payoff : float64 (n_row, n_column)
    rounds : int

    Examples
    --------
    >>> rows, columns = play(np.array([[1.0, 0.0], [0.0, 3.0]]))
    >>> rows.round(2).tolist(), columns.round(2).tolist()
    ([0.75, 0.25], [0.75, 0.25])
    """
    n_row, n_column = payoff.shape
    rows, columns = np.full(n_row, 1.0 / n_row), np.full(n_column, 1.0 / n_column)
    row_regret, column_regret = np.zeros(n_row), np.zeros(n_column)
    row_sum, column_sum = np.zeros(n_row), np.zeros(n_column)
    for weight in range(1, rounds + 1):
        gains = payoff @ columns
        row_regret = np.maximum(row_regret + gains - rows @ gains, 0.0)
        rows = _mixture(row_regret)
        losses = rows @ payoff
        column_regret = np.maximum(column_regret + columns @ losses - losses, 0.0)
        columns = _mixture(column_regret)
        row_sum += weight * rows
        column_sum += weight * columns
    return row_sum / row_sum.sum(), column_sum / column_sum.sum()


def _mixture(regret: Floats) -> Floats:
    total = regret.sum()
    return regret / total if total > 0 else np.full(len(regret), 1.0 / len(regret))
