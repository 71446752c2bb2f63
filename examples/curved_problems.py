"""ISLR Figure 4.11: the same methods where the best boundary is curved."""

import sys
from typing import Any

import linear_problems
from problems import CURVED


def draw(repeats: int = 100, test_rows: int = 10_000) -> Any:
    return linear_problems.draw(repeats, test_rows, CURVED)


if __name__ == "__main__":
    draw().savefig(sys.argv[1] if len(sys.argv) > 1 else "curved_problems.png", dpi=150)
