"""A file of rows, and a model of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.running import well, write


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "rows.csv")


@pytest.fixture
def model(tmp_path: Path, data: Path) -> Path:
    path = tmp_path / "model.discern"
    well("fit", data, "-o", path)
    return path
