"""Rows in which neighbors are found, as files hold them."""

import numpy as np
import pytest

from discern.learners.neighbors.rows import CosineRows


def test_rows_that_are_not_of_unit_length_are_refused() -> None:
    arrays = CosineRows.of(np.array([[3.0, 4.0], [0.0, 2.0]])).arrays()
    assert len(CosineRows.from_arrays(arrays, 2)) == 2
    with pytest.raises(ValueError, match="the rows are not of unit length"):
        CosineRows.from_arrays({**arrays, "rows.weights": 1e60 * arrays["rows.weights"]}, 2)
