"""Asks for known weaknesses of the Python packages that are installed, and fails if it could not ask.

pip-audit alone says that it found nothing when it could not reach its lists. It asks for the list of one version, which
not every mirror of pypi.org has; where it could not, the list of the newest version is asked for, which is that of the
installed one if they are the same.
"""

import json
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

NEWEST = "https://pypi.org/pypi/{}/json"
SECONDS = 30


def asked() -> list[dict[str, Any]]:
    """Return what pip-audit says of each package: ``vulns`` if it could ask, else ``skip_reason``."""
    command = [str(Path(sys.executable).with_name("pip-audit")), "--skip-editable", "--format=json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        sys.exit(f"pip-audit could not ask for known weaknesses, is there a network? {done.stderr.strip()[-300:]}")
    packages: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    with ThreadPoolExecutor(8) as together:
        return list(together.map(asked_again, packages))


def asked_again(package: dict[str, Any]) -> dict[str, Any]:
    """Ask for the list of the newest version, if there is none yet; it counts if that is the one installed."""
    if "vulns" in package:
        return package
    try:
        with urllib.request.urlopen(NEWEST.format(package["name"]), timeout=SECONDS) as answer:
            told = json.load(answer)
    except (OSError, ValueError):
        return package
    installed = version(package["name"])
    if told["info"]["version"] != installed:
        return {**package, "newer": f"{package['name']} {installed} is not the newest, {told['info']['version']}"}
    return {"name": package["name"], "version": installed, "vulns": told["vulnerabilities"]}


def main() -> None:
    packages = asked()
    audited = [package for package in packages if "vulns" in package]
    for package in packages:
        for weakness in package.get("vulns", ()):
            print(f"{package['name']} {package['version']}: {weakness['id']}")
        if "vulns" not in package:
            print(f"not audited: {package.get('newer', package['name'])}")
    print(f"{len(audited)} of {len(packages)} packages were audited")
    if len(audited) < len(packages) // 2:
        sys.exit("most packages could not be audited: a network that reaches pypi.org is needed")
    if any(package["vulns"] for package in audited):
        sys.exit(1)


if __name__ == "__main__":
    main()
