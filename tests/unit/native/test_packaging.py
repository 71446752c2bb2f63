"""The wheel: the same bytes twice, usable in a bare environment; and the source distribution builds."""

import hashlib
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROGRAM = """
import tempfile, pathlib, discern
rows = [{"label": "a", "text": "x1 x2"}, {"label": "b", "text": "y1 y2"}]
model = discern.Classifier().fit(rows)
with tempfile.TemporaryDirectory() as folder:
    model.save(f"{folder}/m.discern")
    assert discern.load(f"{folder}/m.discern").predict(["x2"]).tolist() == ["a"]
assert pathlib.Path(discern.__file__).parts[-2:] == ("discern", "__init__.py")
print(discern.__version__, discern.__file__)
"""


def run(*command: object, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([*map(str, command)], cwd=ROOT, env={**kept, **environment}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return done.stdout.decode()


def wheel(folder: Path) -> Path:
    """Build a wheel from the sources alone, with nothing left of another build."""
    maturin = Path(sys.executable).with_name("maturin")
    built = {"CARGO_TARGET_DIR": str(folder / "target"), "SOURCE_DATE_EPOCH": "1700000000"}
    run(maturin, "build", "--release", "--locked", "--quiet", "--out", folder, **built)
    [path] = folder.glob("*.whl")
    return path


@pytest.mark.soak
def test_two_builds_give_the_same_wheel_and_it_works_alone(tmp_path: Path) -> None:
    wheels = [wheel(tmp_path / name) for name in ("first", "second")]
    first, second = (hashlib.sha256(path.read_bytes()).hexdigest() for path in wheels)
    assert first == second
    run(sys.executable, "-m", "venv", tmp_path / "bare")
    python = tmp_path / "bare" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", wheels[0])
    assert str(tmp_path / "bare") in run(python, "-c", PROGRAM)
    assert "naive" in run(tmp_path / "bare" / "bin" / "discern", "fit", "--help").lower()


@pytest.mark.soak
def test_the_source_distribution_builds(tmp_path: Path) -> None:
    maturin = Path(sys.executable).with_name("maturin")
    run(maturin, "sdist", "--out", tmp_path)
    [path] = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = archive.getnames()
        archive.extractall(tmp_path, filter="data")
    assert any(name.endswith("rust/src/lib.rs") for name in names)
    assert any(name.endswith("LICENSE") for name in names)
    assert not [name for name in names if name.endswith((".so", ".discern")) and "golden" not in name]
    folder = tmp_path / path.name.removesuffix(".tar.gz")
    out = {"CARGO_TARGET_DIR": str(tmp_path / "target")}  # what was built of other sources would count as new enough
    run(maturin, "build", "--release", "--locked", "--quiet", "-m", folder / "Cargo.toml", "--out", tmp_path, **out)
    assert list(tmp_path.glob("*.whl"))
