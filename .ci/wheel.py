"""Check the wheels of a folder: what their names promise, what they hold, and that each works in a bare environment.

    python .ci/wheel.py dist

A wheel for another system is only looked into. Installing needs the packages that discern depends on.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

PROGRAM = """
import pathlib, sys, tempfile, discern
rows = [{"label": "a", "text": "x1 x2"}, {"label": "b", "text": "y1 y2"}]
model = discern.Classifier().fit(rows)
with tempfile.TemporaryDirectory() as folder:
    model.save(f"{folder}/m.discern")
    model.save(f"{folder}/m.discern")
    assert discern.load(f"{folder}/m.discern").predict(["x2"]).tolist() == ["a"]
assert pathlib.Path(discern.__file__).is_relative_to(sys.prefix), discern.__file__
print("discern", discern.__version__, "works on Python", sys.version.split()[0])
"""
SYSTEMS = {"linux": "linux", "darwin": "macosx", "win32": "win"}


def faults(wheel: Path) -> list[str]:
    """Return what is wrong with the name or the content of a wheel."""
    _, version, python, abi, _ = wheel.stem.split("-")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    native = [name for name in names if name.endswith((".so", ".pyd", ".dylib"))]
    folders = {name.partition("/")[0] for name in names}
    wanted = ("discern/py.typed", "discern/_native.pyi", "discern/sample/messages.csv")
    return [
        *([] if (python, abi) == ("cp311", "abi3") else [f"it is for {python}-{abi}, not cp311-abi3"]),
        *([] if len(native) == 1 else [f"it has {len(native)} native modules: {', '.join(native)}"]),
        *(f"it lacks {name}" for name in wanted if name not in names),
        *([] if any(name.endswith("/licenses/LICENSE") for name in names) else ["it lacks the licence"]),
        *(f"it also installs {name}" for name in sorted(folders - {"discern", f"discern-{version}.dist-info"})),
    ]


def is_for_here(wheel: Path) -> bool:
    """Return whether a wheel is for this system and processor."""
    machine = sysconfig.get_platform().rpartition("-")[2]
    platform = wheel.stem.rpartition("-")[2]
    return SYSTEMS[sys.platform] in platform and platform.endswith(machine)


def works(wheel: Path) -> None:
    """Install a wheel into an environment of its own and use it."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        programs = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin")
        python = programs / ("python.exe" if sys.platform == "win32" else "python")
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel]
        subprocess.run(install, check=True)
        subprocess.run([python, "-I", "-c", PROGRAM], check=True, cwd=folder)
        subprocess.run([programs / "discern", "fit", "--help"], check=True, cwd=folder, stdout=subprocess.DEVNULL)


def main() -> int:
    """Check all wheels of the folder."""
    wheels = sorted(Path(sys.argv[1]).glob("*.whl"))
    if not wheels:
        print(f"there is no wheel in {sys.argv[1]}")
        return 1
    found = {wheel: faults(wheel) for wheel in wheels}
    for wheel, wrong in found.items():
        print(f"{wheel.name}: {'; '.join(wrong) or f'{wheel.stat().st_size:,} bytes'}")
        if not wrong and is_for_here(wheel):
            works(wheel.resolve())
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
