"""The Hessian of logistic regression, from the residuals of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discern.learners.logistic.rows import LabeledRows

Array = NDArray[Any]

HESSIAN_NUMBERS = 1 << 17
"""The numbers of a block of rows, a copy for each output, that are multiplied with themselves."""


def shares_of(classes: Array, n_classes: int, residuals: Array) -> tuple[Array, Array]:
    """Return the share of each output, a line an output, and 1 less it, each to full precision.

    Parameters
    ----------
    residuals : array of (outputs, rows)
        The share of each output, less 1 for that of the row's own class.

    Examples
    --------
    >>> shares, rests = shares_of(np.array([1, 0]), 2, np.array([[-0.25, 0.75]]))
    >>> shares.tolist(), rests.tolist()
    ([[0.75, 0.75]], [[0.25, 0.25]])
    """
    own = classes == np.arange(n_classes)[-len(residuals) :, None]
    return np.where(own, 1.0 + residuals, residuals), np.where(own, -residuals, 1.0 - residuals)


class Curvature:
    """The Hessian of dense rows, block by block: Σ p_k (1 − p_k) x xᵀ on its diagonal, −Σ p_k p_l x xᵀ beside it.

    What is beside the diagonal is one product of the rows p ⊗ x with themselves, of which BLAS computes half.

    Parameters
    ----------
    diagonal : bool
        Sum the blocks on the diagonal only.
    """

    def __init__(self, rows: LabeledRows, diagonal: bool = False) -> None:
        from scipy.linalg.blas import dsyrk

        self._rows, self._syrk = rows, dsyrk
        columns, outputs = rows.columns, rows.outputs
        self._own = [np.zeros((columns, columns), order="F") for _ in range(outputs)]
        self._beside = np.zeros((outputs * columns,) * 2, order="F") if outputs > 1 and not diagonal else None

    @property
    def block_rows(self) -> int:
        """How many rows to add at once."""
        wide = self._rows.columns * (1 if self._beside is None else self._rows.outputs)
        return max(HESSIAN_NUMBERS // wide, 64)

    def add(self, table: Array, residuals: Array, block: slice) -> None:
        """Add a block of the rows by their residuals, which are not weighted."""
        rows, (outputs, count) = self._rows, residuals.shape
        shares, rests = shares_of(rows.classes[block], rows.n_classes, residuals)
        roots = np.sqrt(np.maximum(shares * rests, 0.0))
        if rows.weights is not None:
            weights = np.sqrt(rows.weights[block])
            shares, roots = shares * weights, roots * weights
        several = np.empty((count, outputs if self._beside is not None else 1, rows.columns))
        for place in range(outputs):
            wide = several[:, 0] if outputs == 1 else np.empty((count, rows.columns))
            _fill(wide, table, roots[place])
            self._own[place] = self._syrk(1.0, wide.T, beta=1.0, c=self._own[place], overwrite_c=1)
        if self._beside is not None:
            for place in range(outputs):
                _fill(several[:, place], table, shares[place])
            flat = several.reshape(count, -1)
            self._beside = self._syrk(-1.0, flat.T, beta=1.0, c=self._beside, overwrite_c=1)

    def blocks(self) -> list[Array]:
        """Return the blocks on the diagonal."""
        return [_whole(block) for block in self._own]

    def hessian(self) -> Array:
        """Return the Hessian."""
        if self._beside is None:
            return self.blocks()[0]
        columns, hessian = self._rows.columns, _whole(self._beside)
        for place, block in enumerate(self.blocks()):
            span = slice(place * columns, (place + 1) * columns)
            hessian[span, span] = block
        return hessian


def _fill(wide: Array, table: Array, factors: Array) -> None:
    """Write rows times their factors, followed by the factor for the intercept, if there is a column for it."""
    features = table.shape[1]
    np.multiply(table, factors[:, None], out=wide[:, :features])
    wide[:, features:] = factors[:, None]


def _whole(upper: Array) -> Array:
    """Return the symmetric matrix whose upper triangle is given, with zeros below."""
    whole = np.asarray(upper + upper.T)
    whole[np.diag_indices_from(whole)] *= 0.5
    return whole
