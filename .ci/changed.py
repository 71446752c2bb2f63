"""Print the tests of the packages that differ from main, with changes that are not committed: ``make check``."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ("python", "discern")
COUNTED_IN_RUST = ("data", "native", "statistics")


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed() -> list[Path]:
    """Return the files that differ from where this branch left main; where there is no main, from the last commit."""
    base = git("merge-base", "HEAD", "main") or git("merge-base", "HEAD", "origin/main") or ["HEAD"]
    names = git("diff", "--name-only", base[0]) + git("ls-files", "--others", "--exclude-standard")
    return [Path(name) for name in names]


def packages(path: Path) -> tuple[str, ...]:
    """Return the names in tests/unit that a file belongs to."""
    if path.parts[:2] in (PACKAGE, ("tests", "unit")):
        return (path.parts[2].removesuffix(".py"),)
    if path.parts[0] == "rust":
        return COUNTED_IN_RUST
    return (path.parts[0],)


def tests(paths: list[Path]) -> list[str]:
    """Return the folders of the packages, and the changed modules, whose docstrings have examples."""
    folders = {f"tests/unit/{name}" for path in paths for name in packages(path)}
    modules = {str(path) for path in paths if path.parts[:2] == PACKAGE and path.suffix == ".py"}
    return sorted(name for name in folders | modules if (ROOT / name).exists())


if __name__ == "__main__":
    print(*tests(changed()))
