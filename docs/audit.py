"""Asks pip-audit for known weaknesses of what is installed, and fails if it could not ask.

pip-audit alone says that it found nothing when it could not reach its list.
"""

import json
import subprocess
import sys
from pathlib import Path


def main() -> None:
    command = [str(Path(sys.executable).with_name("pip-audit")), "--skip-editable", "--format=json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        sys.exit(f"pip-audit could not ask for known weaknesses, is there a network? {done.stderr.strip()[-300:]}")
    packages = json.loads(done.stdout)["dependencies"]
    asked = [package for package in packages if "vulns" in package]
    for package in asked:
        for weakness in package["vulns"]:
            print(f"{package['name']} {package['version']}: {weakness['id']}")
    print(f"{len(asked)} of {len(packages)} packages were audited")
    if len(asked) < len(packages) // 2:
        sys.exit("most packages could not be audited: pip-audit needs a network that reaches pypi.org")
    if any(package["vulns"] for package in asked):
        sys.exit(1)


if __name__ == "__main__":
    main()
