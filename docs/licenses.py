"""Writes docs/licenses.md: what discern is built with and runs with, and under which license.

    python docs/licenses.py            write the page
    python docs/licenses.py --check    fail if it lacks a package or crate, if a license is not among ALLOWED, or if a
                                       crate is not locked to one of crates.io by its checksum

Only what is installed is asked: no network is needed.
"""

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

FOLDER = Path(__file__).parent
ALLOWED = {
    "0BSD", "Apache License", "Apache Software License", "Apache-2.0", "BSD License", "BSD-2-Clause", "BSD-3-Clause",
    "CC0-1.0", "ISC License", "MIT", "MIT License", "MIT-0", "Python Software Foundation License", "PSF-2.0",
    "Unicode-3.0", "Unlicense", "Zlib",
}  # fmt: skip
"""Licenses that ask for no more than to be named."""
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"
HEAD = """# Licenses

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
    license = told.get("License-Expression") or "; ".join(classes) or (told.get("License") or "?").splitlines()[0]
    found[package.name] = (package.version, license)
    for line in package.requires or ():
        needed = Requirement(line)
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            python_packages(needed.name, found)


def crates() -> dict[str, tuple[str, str]]:
    """Return the crates that are linked, not those that only build or test."""
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
    # Of some crates there are two versions.
    named = {package["name"]: [one for one in chosen if one["name"] == package["name"]] for package in chosen}
    return {
        name: (", ".join(sorted(one["version"] for one in same)), same[0]["license"] or "?")
        for name, same in named.items()
    }


def table(title: str, found: dict[str, tuple[str, str]]) -> str:
    rows = [f"| {name} | {version} | {license} |" for name, (version, license) in sorted(found.items())]
    return "\n".join([f"\n## {title}\n", "| name | version | license |", "| --- | --- | --- |", *rows, ""])


def allowed(license: str) -> bool:
    """Return whether all parts of an expression with AND, or one of those with OR, are allowed."""
    plain = re.sub(r" \([A-Z]+\)$| WITH [\w-]+|[()]", "", license).replace("/", " OR ")
    every = (part.strip() for part in re.split(r" AND |; ", plain))
    return all(any(one.strip() in ALLOWED for one in part.split(" OR ")) for part in every)


def check(packages: dict[str, tuple[str, str]], linked: dict[str, tuple[str, str]]) -> None:
    """Packages may be of other versions elsewhere; crates are locked."""
    page = (FOLDER / "licenses.md").read_text(encoding="utf-8")
    missing = [name for name in packages if f"| {name} |" not in page]
    missing += [
        name for name, (version, license) in linked.items() if f"| {name} | {version} | {license} |" not in page
    ]
    refused = [f"{name}: {license}" for name, (_, license) in {**packages, **linked}.items() if not allowed(license)]
    if missing:
        sys.exit(f"docs/licenses.md does not have {', '.join(missing)} as it is now: run make sbom")
    if refused:
        sys.exit(f"not a license that docs/licenses.py allows: {', '.join(refused)}")
    if loose := unlocked():
        sys.exit(f"not locked to a crate of crates.io by a checksum: {', '.join(loose)}")


def unlocked() -> list[str]:
    """Return the crates that could change without notice: of another source than crates.io, or without a checksum."""
    lock = tomllib.loads((FOLDER.parent / "Cargo.lock").read_text(encoding="utf-8"))
    others = [package for package in lock["package"] if package["name"] != "discern"]
    return [one["name"] for one in others if one.get("source") != REGISTRY or "checksum" not in one]


def main() -> None:
    packages: dict[str, tuple[str, str]] = {}
    python_packages("discern", packages)
    packages.pop("discern", None)
    if "--check" in sys.argv:
        check(packages, crates())
        return
    words = "\nThe stop words in `python/discern/data/stopwords` have their own license, beside them.\n"
    text = HEAD + table("Python packages", packages) + table("Rust crates", crates()) + words
    (FOLDER / "licenses.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
