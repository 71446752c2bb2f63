"""Mutation testing of Python modules: the share of small random changes that a module's tests detect.

    python tests/mutation/python.py [MODULE ...] [--count 100] [--seed 1]

Draws changes of the module at random, always the same ones for a seed, and runs the module's tests with each change.
Prints each change that they did not detect, and ends with an error if more than 15% were not detected. Libraries are
imported once; each change is tested in a process forked from there. A change that no test can detect, because it changes
no result, is listed in `EQUIVALENT` with the reason, and not counted.
"""

import argparse
import ast
import copy
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
TESTS = {
    "statistics.counts": ["tests/unit/statistics/test_counts.py", "tests/laws/test_counts.py"],
    "learners.bayes": [
        "tests/unit/learners/test_bayes.py",
        "tests/worked/test_naive_bayes.py",
        "tests/unit/classifier/test_changing_labels.py",
    ],
    "evaluation.decisions": [
        "tests/worked/test_decisions.py",
        "tests/reference/test_decisions.py",
        "tests/unit/classifier/test_decided_models.py",
        "tests/unit/classifier/test_changing_labels.py",
    ],
    "models.file": [
        "tests/unit/models/test_file.py",
        "tests/golden/test_golden.py",
        "tests/unit/classifier/test_changing_labels.py",
    ],
}
"""The tests of each module; its own doctests are run, too."""
EQUIVALENT = {
    "learners.bayes": {
        ("lengths = np.asarray(rows.sum(axis=1)).reshape(-1, 1)", "another constant: 1"): "NumPy takes any negative size for the one that is left open",
        ("MOST_DENSE = 1 << 25", "another constant"): "weights are dense or sparse, and the same",
        ("if not 1e-100 <= self.mass <= 1e100:", "another constant: 1e+100"): "a number so large is the same with 1 added",
        ("unseen = np.log1p(-probability(0, 0, margins.classes, margins.documents))", "another constant: 0"): "the Bernoulli model does not use the sum over classes",
    },
    "statistics.counts": {
        ("distinct, inverse = _distinct(np.concatenate(keys), (len(offsets) - 1) * width)", "computes otherwise: len(offsets) - 1"): "a larger bound for keys that are below the smaller one",
        ("if most > 4 * max(len(keys), 1 << 16):", ""): "both ways give the same keys, one of them sooner",
    },
    "models.file": {
        ("mask = os.umask(0)", "another constant"): "the previous mask is read, whatever is set for a moment",
        ("return mmap.mmap(-1, size, flags=flags) if flags else mmap.mmap(-1, size)", ""): "the same memory, allocated sooner or later; systems without flags are not tested here",
        ("if len(expected) != len(_HOLE) or start < 0 or head.find(expected, start + 1) >= 0:", "another constant"): "a head does not begin with its checksum, which is 64 characters long",
        ("if len(expected) != len(_HOLE) or start < 0 or head.find(expected, start + 1) >= 0:", "compares otherwise: start < 0"): "a head does not begin with its checksum",
        ("if len(expected) != len(_HOLE) or start < 0 or head.find(expected, start + 1) >= 0:", "compares otherwise: head.find"): "what is found after the first place is not at 0",
        ("if int(array.min(initial=0)) < 0:", "another constant: 0"): "neither 0 nor 1 is below 0",
        ("flags = sum(getattr(mmap, kind, 0) for kind in kinds)", "another constant"): "Linux has all kinds of maps",
        ('head = content[: 8 + int.from_bytes(content[:8].tobytes(), "little")].tobytes()', "another constant: 8"): "a longer head does not contain the checksum a second time",
    },
    "evaluation.decisions": {
        ("FEW_COLUMNS = 16", "another constant"): "with more columns another way to the same labels is faster",
        ("return np.where(totals > 0, weighted / np.where(totals > 0, totals, 1.0), shares)", "another constant: 1.0"): "the quotient is not used",
    },
}  # fmt: skip
"""Mutants that no test can detect, because they change no result: by module, the line and the beginning of what is changed
in it (nothing: every change of the line), with the reason. Lines are found by their text, not by their number."""
LOADED = ("numpy", "scipy.sparse", "scipy.special", "scipy.stats", "sklearn.naive_bayes", "sklearn.utils", "pyarrow",
          "pytest", "safetensors.numpy", "joblib")  # fmt: skip
LEAST = 0.85
COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COMPUTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
TIME_LIMIT = 60.0
"""Seconds, beside five times those of the unchanged module, after which a change that makes the tests slow is detected."""


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def ignored(node: ast.AST) -> bool:
    """Return whether a node is not changed: docstrings, error messages and what only the type checker reads."""
    if isinstance(node, ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom) or is_text(node):
        return True
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def places(node: ast.AST) -> Iterator[ast.AST]:
    if ignored(node):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from places(child)


def change(node: ast.AST) -> str | None:
    """Change a node in place and return a description; None if there is nothing to change."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        node.ops[0] = COMPARED[type(node.ops[0])]()
        return "compares otherwise"
    if isinstance(node, ast.BinOp) and type(node.op) in COMPUTED:
        node.op = COMPUTED[type(node.op)]()
        return "computes otherwise"
    if isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return "and is or"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not()
        if isinstance(node.op, ast.Not):
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
        return "without its sign"
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
        return "another constant"
    if isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        node.value = ast.Constant(None)
        return "returns nothing"
    if isinstance(node, ast.IfExp):
        node.body, node.orelse = node.orelse, node.body
        return "the other branch"
    return None


@dataclass(frozen=True)
class Mutant:
    """A changed source: the line of the change, its number, and what was changed in it."""

    source: str
    line: str
    number: int
    change: str

    def is_equivalent(self, module: str) -> bool:
        known = EQUIVALENT.get(module, {})
        return any(self.line == line and self.change.startswith(change) for line, change in known)


def drawn(source: str, count: int, seed: int) -> tuple[list[Mutant], int]:
    """Return `count` random mutants, and the number of all that are possible."""
    tree = ast.parse(source)
    able = [number for number, node in enumerate(places(tree)) if change(copy.copy(node)) is not None]
    chosen = random.Random(seed).sample(able, min(count, len(able)))
    return [changed(source, number) for number in chosen], len(able)


def changed(source: str, place: int) -> Mutant:
    """Change one place of a source."""
    tree = ast.parse(source)
    target = list(places(tree))[place]
    number, before = getattr(target, "lineno", 0), ast.unparse(target)
    how = change(target)
    line = source.splitlines()[number - 1].strip() if number else ""
    return Mutant(ast.unparse(tree), line, number, f"{how}: {before[:90]}")


class Changed(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Import one module of the package from a changed source."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        self.name, self.path, self.source = name, path, source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.name else None

    def get_filename(self, fullname: str) -> str:
        return str(self.path)

    def get_data(self, path: str) -> bytes:
        return self.source.encode()


def detects(module: str, source: str, limit: float) -> bool:
    """Return whether the module's tests fail, or do not end, with this source, in a child process."""
    child = os.fork()
    if not child:
        run_tests(module, source)
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status != 0
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def run_tests(module: str, source: str) -> None:
    """Run the tests in this process, then exit."""
    import pytest

    path = ROOT / "python" / "discern" / f"{module.replace('.', '/')}.py"
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    sys.meta_path.insert(0, Changed(f"discern.{module}", path, source))
    failed = 1
    try:
        importlib.import_module(f"discern.{module}")  # before pytest imports it in its own way
        failed = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *TESTS[module], str(path)]))
    finally:
        os._exit(min(failed, 1))


def report(module: str, count: int, seed: int) -> float:
    """Print the mutants that were not detected, and return the share that was."""
    source = (ROOT / "python" / "discern" / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    start = time.monotonic()
    if detects(module, source, 600):
        raise SystemExit(f"the tests of {module} fail without any change")
    limit = TIME_LIMIT + 5 * (time.monotonic() - start)
    mutants, possible = drawn(source, count, seed)
    counted = [mutant for mutant in mutants if not mutant.is_equivalent(module)]
    missed = 0
    for mutant in counted:
        if not detects(module, mutant.source, limit):
            missed += 1
            print(f"  not detected: {module}, line {mutant.number}, {mutant.change}", flush=True)
    share = 1 - missed / max(len(counted), 1)
    equivalent = len(mutants) - len(counted)
    print(
        f"{module}: {len(counted) - missed} of {len(counted)} detected ({share:.0%}), {equivalent} equivalent, "
        f"of {possible} possible",
        flush=True,
    )
    return share


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", default=list(TESTS))
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    os.chdir(ROOT)
    os.environ |= {
        "HYPOTHESIS_PROFILE": "brief",
        "CI": "1",
        "SCIPY_ARRAY_API": "1",
        "DISCERN_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    sys.dont_write_bytecode = True
    for name in LOADED:
        importlib.import_module(name)
    shares = [report(module, given.count, given.seed) for module in given.modules]
    if min(shares) < LEAST:
        raise SystemExit(f"fewer than {LEAST:.0%} of the changes were detected")


if __name__ == "__main__":
    main()
