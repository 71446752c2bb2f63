"""Writes figures and pictures of the benchmark results, and draws the demo, for site and README: ``make docs``."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
DEMO = HERE / "pictures" / "demo.svg"
WIDE = 100


def draw_demo(place: Path = DEMO) -> None:
    """Write what ``discern demo`` shows of its first message, as a picture of a terminal."""
    import io
    import subprocess
    import tempfile

    from rich.console import Console
    from rich.text import Text

    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "discern.cli", "demo", "-o", f"{folder}/demo.discern"]
        colors = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDE)}
        shown = subprocess.run(command, capture_output=True, check=True, env=colors).stdout.decode()
    first = shown.split("Why one of those is ham")[0].rstrip().rstrip("\x1b[1m").rstrip()
    console = Console(record=True, width=WIDE, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi("$ discern demo\n\n" + first))
    picture = console.export_svg(title="discern demo", unique_id="demo")
    bare = re.sub(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", "", picture, flags=re.DOTALL)  # no font of the network
    place.write_text(bare, "utf-8")


def main() -> None:
    sys.path.insert(0, str(HERE.parent))
    from benchmarks.harness import figures

    print(figures.write())
    draw_demo()
    print(f"wrote {DEMO.name}")


if __name__ == "__main__":
    main()
