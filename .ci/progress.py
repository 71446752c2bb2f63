"""Run a command that takes minutes: its output goes to a file, and the time and the last line to the terminal.

    python .ci/progress.py LOG COMMAND [ARGUMENT ...]

Without a terminal, the time is shown every 20 seconds. If the command fails, its output is shown.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

EVERY = 20


def last_line(log: Path) -> str:
    """Return the last line that the command has written, as far as it can be shown."""
    lines = log.read_text("utf-8", errors="replace").replace("\r", "\n").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip().isprintable() and line.strip()), "")


def main() -> int:
    """Run the command."""
    log, command = Path(sys.argv[1]), sys.argv[2:]
    terminal, started, shown = sys.stdout.isatty(), time.monotonic(), 0
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as running:
        while running.poll() is None:
            time.sleep(0.2)
            seconds = int(time.monotonic() - started)
            if terminal:
                width = shutil.get_terminal_size().columns - 1
                print(f"\r    {seconds} s  {last_line(log)}"[:width].ljust(width), end="", flush=True)
            elif seconds >= shown + EVERY:
                shown = seconds
                print(f"    {seconds} s  {last_line(log)}", flush=True)
    if terminal:
        print("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r", end="", flush=True)
    if running.returncode:
        print(log.read_text("utf-8", errors="replace"), end="")
    return running.returncode


if __name__ == "__main__":
    sys.exit(main())
