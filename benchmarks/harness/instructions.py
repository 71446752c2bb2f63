"""A guard of speed that does not depend on the machine's mood: how many instructions the inner loops take.

``python -m benchmarks.harness.instructions`` counts them with valgrind and compares with ``instructions.json``; with
``--record`` it writes them there. One process only gets ready, another also counts texts and makes rows of them: the
difference is the work alone. valgrind knows no AVX-512, so the AVX2 path is counted, which is what the library
falls back to, and the plain one.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parents[1] / "instructions.json"
PATHS = ("avx2", "plain")
TIMES = 4
MOST = 1.03
"""The largest allowed ratio to the recorded number. Runs differ by some tenths of a percent, as hashes are keyed."""


def texts() -> list[str]:
    """Make the same texts each time, frequent words and rare ones; some are not ASCII."""
    state, made = 1, []
    for _ in range(300):
        words = []
        for _ in range(120):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            rank = int(3000 ** ((state >> 40) / 2**24))
            start = "naïve" if rank % 50 == 0 else "Word" if rank % 7 == 0 else "word"
            words.append(start + chr(97 + rank % 26) * (rank % 5) + str(rank))
        made.append(" ".join(words))
    return made


def work(times: int) -> str:
    """Count the texts, and make rows of them; return the code path."""
    from discern import _native
    from discern.data.text import TextSettings
    from discern.statistics.counts import Counts

    documents, settings = texts(), TextSettings()
    labels = ["ham" if row % 2 else "spam" for row in range(len(documents))]
    for _ in range(times):
        terms = Counts.of(documents, labels, settings, threads=1).terms
        _native.Vocabulary(settings.native, terms.offsets, terms.data).rows(documents, 1)
    return _native.code_path()


def counted(path: str, times: int) -> int:
    """Run the work in a process under valgrind and count its instructions."""
    forced = "" if path == PATHS[0] else path  # the library has to find out by itself that there is no AVX-512
    threads = dict.fromkeys(("DISCERN_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "DISCERN_CODE_PATH": forced, "PYTHONHASHSEED": "0"}
    call = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-m", __spec__.name]
    ended = subprocess.run([*call, "--work", str(times)], env=environment, capture_output=True, text=True, check=True)
    used = ended.stdout.strip()
    if used != path:
        raise SystemExit(f"under valgrind the code path is {used}, not {path}: this processor cannot be compared")
    found = re.search(r"Collected : (\d+)", ended.stderr)
    assert found, ended.stderr
    return int(found[1])


def measured() -> dict[str, int]:
    ready = counted(PATHS[0], 0)
    return {path: (counted(path, TIMES) - ready) // TIMES for path in PATHS}


def compiler() -> str:
    return subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True).stdout.strip()


def verdict(recorded: dict[str, int], found: dict[str, int]) -> list[str]:
    """Return a sentence for each code path that takes more than it may."""
    grown = {path: found[path] / recorded[path] for path in found}
    return [
        f"{path}: {found[path]:,} instructions, {100 * (share - 1):.1f}% more than the {recorded[path]:,} recorded"
        for path, share in grown.items()
        if share > MOST
    ]


def compare(known: dict[str, Any], found: dict[str, int]) -> int:
    wrong = verdict(known["instructions"], found)
    for path, number in found.items():
        print(f"{path}: {number:,} instructions, recorded {known['instructions'][path]:,}")
    if wrong and known["compiler"] != compiler():
        print(f"the recorded numbers are of {known['compiler']}, these of {compiler()}")
    if wrong:
        print(
            *wrong,
            "make it faster, or record the new numbers: python -m benchmarks.harness.instructions --record",
            sep="\n",
        )
    return int(bool(wrong))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.harness.instructions")
    parser.add_argument("--record", action="store_true", help="keep the numbers")
    parser.add_argument("--work", type=int, help="only do the work, this many times")
    given = parser.parse_args()
    if given.work is not None:
        print(work(given.work))
        return 0
    if shutil.which("valgrind") is None or platform.machine() != "x86_64":
        raise SystemExit("valgrind was not found, or this is no x86-64: nothing can be compared")
    found = measured()
    if given.record:
        RECORDED.write_text(
            json.dumps({"compiler": compiler(), "instructions": found}, indent=1) + "\n", encoding="utf-8"
        )
        return 0
    return compare(json.loads(RECORDED.read_text(encoding="utf-8")), found)


if __name__ == "__main__":
    sys.exit(main())
