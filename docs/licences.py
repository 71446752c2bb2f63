"""Writes docs/licences.md: what discern is built with and runs with, and under which licence.

    python docs/licences.py

Only what is installed is asked: no network is needed.
"""

import json
import subprocess
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

FOLDER = Path(__file__).parent
HEAD = """# Licences

What discern needs at run time, and what is compiled into it. Written by `make sbom`; `sbom.json` has the same as
CycloneDX.
"""


def python_packages(name: str, found: dict[str, tuple[str, str]]) -> None:
    """Add a package and all that it needs."""
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return
    if package.name in found:
        return
    told = package.metadata
    classes = [one.split(" :: ")[-1] for one in told.get_all("Classifier") or () if one.startswith("License")]
    licence = told.get("License-Expression") or "; ".join(classes) or (told.get("License") or "?").splitlines()[0]
    found[package.name] = (package.version, licence)
    for line in package.requires or ():
        needed = Requirement(line)
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            python_packages(needed.name, found)


def crates() -> dict[str, tuple[str, str]]:
    """Give the crates that are linked, not those that only build or test."""
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--offline"]
    described = json.loads(subprocess.run(command, capture_output=True, check=True, cwd=FOLDER.parent).stdout)
    packages = {package["id"]: package for package in described["packages"]}
    nodes = {node["id"]: node for node in described["resolve"]["nodes"]}
    reached, waiting = set(), [described["resolve"]["root"]]
    while waiting:
        one = waiting.pop()
        if one in reached:
            continue
        reached.add(one)
        for needed in nodes[one]["deps"]:
            if any(kind["kind"] is None for kind in needed["dep_kinds"]):
                waiting.append(needed["pkg"])
    chosen = [packages[one] for one in reached if one != described["resolve"]["root"]]
    return {package["name"]: (package["version"], package["license"] or "?") for package in chosen}


def table(title: str, found: dict[str, tuple[str, str]]) -> str:
    rows = [f"| {name} | {version} | {licence} |" for name, (version, licence) in sorted(found.items())]
    return "\n".join([f"\n## {title}\n", "| name | version | licence |", "| --- | --- | --- |", *rows, ""])


def main() -> None:
    packages: dict[str, tuple[str, str]] = {}
    python_packages("discern", packages)
    packages.pop("discern", None)
    words = "\nThe stop words in `python/discern/stopwords` have their own licence, beside them.\n"
    text = HEAD + table("Python packages", packages) + table("Rust crates", crates()) + words
    (FOLDER / "licences.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
