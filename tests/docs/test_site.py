"""The site is built without a warning; the pages of the course are taken as they are, not run (``make docs`` runs them)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = (".git", ".venv", "build", "dist", "docs", "target")


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("api", "course", "__pycache__"))
    for path in ROOT.iterdir():
        if path.name not in ELSEWHERE:
            (tmp_path / path.name).symlink_to(path)
    call = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "--quiet", "-b", "dummy", "-D", "plot_gallery=0"]
    done = subprocess.run(
        [*call, "docs", "built"], cwd=tmp_path, capture_output=True, text=True, timeout=250, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "docs" / "api" / "discern.Classifier.rst").exists()
