"""How many small changes of a module its tests notice.

    python tests/mutation/python.py [MODULE ...] [--count 100] [--seed 1]

Draws changes of the module at random, always the same ones for a seed, and runs the module's tests with each, one at a
time. Prints each change that they did not notice, and ends with an error if more than 15% were not. What the tests
import from elsewhere is loaded once; every change gets a process of its own, forked from there. A change that cannot
be noticed, because it changes no result, is listed in `SAME` with the reason, and not counted.
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
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
TESTS = {
    "statistics.counts": ["tests/unit/statistics/test_counts.py", "tests/laws/test_counts.py"],
    "learners.bayes": ["tests/unit/learners/test_bayes.py", "tests/worked/test_naive_bayes.py"],
    "evaluation.decisions": ["tests/worked/test_decisions.py", "tests/reference/test_decisions.py"],
    "models.file": ["tests/unit/models/test_file.py", "tests/golden/test_golden.py"],
}
"""The tests of each module, beside its own examples."""
SAME = {
    "learners.bayes": {
        "line 269:56, another constant": "NumPy takes every negative size for the one that is left",
        "line 27:13, another constant": "weights are dense or sparse, and the same",
        "line 65:38, another constant": "a number so large is the same with 1 added",
        "line 345:38, another constant": "the Bernoulli model does not look at the sum over classes",
    },
    "statistics.counts": {
        "line 27:16, another constant": "a number so large is the same with 1 added",
        "line 27:37, another constant": "a number so large is the same with 1 added",
        "line 27:44, another constant": "a number so large is the same with 1 added",
        "line 337:57, computes otherwise": "a larger bound for keys that are below the smaller one",
        "line 351:7, compares otherwise": "both ways give the same keys, one of them sooner",
        "line 351:14, ": "both ways give the same keys, one of them sooner",
        "line 351:33, another constant": "both ways give the same keys, one of them sooner",
        "line 351:38, another constant": "both ways give the same keys, one of them sooner",
        "line 707:107, another constant": "both lists always have four parts",
    },
    "models.file": {
        "line 62:20, another constant": "the mask that was there is read, whatever is set for a moment",
        "line 145:11, the other branch": "the same memory, got sooner or later",
        "line 152:79, another constant": "if the first place is not the checksum's own, that comes 64 characters later",
        "line 86:29, another constant": "neither 0 nor 1 is below 0",
        "line 144:36, another constant": "all kinds of maps are there",
        "line 145:68, without its sign": "where no kind of map is there, which is not so here",
        "line 145:69, another constant": "where no kind of map is there, which is not so here",
        "line 150:21, another constant": "a head that is taken for longer holds the checksum no second time",
        "line 150:49, another constant": "a head that is taken for longer holds the checksum no second time",
        "line 152:38, compares otherwise": "a head cannot begin with its checksum",
        "line 152:46, another constant": "a head cannot begin with its checksum",
        "line 152:51, compares otherwise": "what is found after the first place is not at 0",
        "line 152:85, another constant": "what is found after the first place is not at 0",
    },
    "evaluation.decisions": {
        "line 19:14, another constant": "with more columns another way to the same labels is faster",
        "line 135:76, another constant": "what is divided by it is not used",
    },
}
"""By module: a part of what is told of a change, and why no test can notice it."""
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
PATIENCE = 60.0
"""Seconds after which a change that makes the tests slow counts as noticed."""


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def ignored(node: ast.AST) -> bool:
    """Docstrings, annotations, messages of errors and what only the type checker reads are left as they are."""
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
    """Change a node in its place and say how; None if there is nothing to change."""
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


def drawn(source: str, count: int, seed: int) -> tuple[list[tuple[str, str]], int]:
    """Return so many changed sources, each with a word about the change, and how many there are in all."""
    tree = ast.parse(source)
    able = [number for number, node in enumerate(places(tree)) if change(copy.copy(node)) is not None]
    chosen = random.Random(seed).sample(able, min(count, len(able)))
    return [changed(source, number) for number in chosen], len(able)


def changed(source: str, number: int) -> tuple[str, str]:
    """Change the so-many-th place of a source."""
    tree = ast.parse(source)
    target = list(places(tree))[number]
    line, before = f"{getattr(target, 'lineno', 0)}:{getattr(target, 'col_offset', 0)}", ast.unparse(target)
    told = change(target)
    return ast.unparse(tree), f"line {line}, {told}: {before[:90]}"


class Changed(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Imports one module of the package from a changed source."""

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


def notices(module: str, source: str, limit: float) -> bool:
    """Return whether the module's tests fail, or do not end, with this source: in a child process."""
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
    """Run the tests in this process, and end it."""
    import pytest

    path = ROOT / "python" / "discern" / f"{module.replace('.', '/')}.py"
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    sys.meta_path.insert(0, Changed(f"discern.{module}", path, source))
    failed = 1
    try:
        failed = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *TESTS[module], str(path)]))
    finally:
        os._exit(min(failed, 1))


def tell(module: str, count: int, seed: int) -> float:
    """Print what was not noticed, and give the share that was."""
    source = (ROOT / "python" / "discern" / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    start = time.monotonic()
    if notices(module, source, 600):
        raise SystemExit(f"the tests of {module} fail without any change")
    limit = PATIENCE + 5 * (time.monotonic() - start)
    mutants, every = drawn(source, count, seed)
    left = [(text, told) for text, told in mutants if not any(part in told for part in SAME.get(module, {}))]
    killed = 0
    for place, (text, told) in enumerate(left, 1):
        noticed = notices(module, text, limit)
        killed += noticed
        if not noticed:
            print(f"  not noticed ({killed} of {place} were): {module}.py {told}", flush=True)
    same = len(mutants) - len(left)
    print(
        f"{module}: {killed} of {len(left)} noticed ({killed / len(left):.0%}), {same} the same, of {every}", flush=True
    )
    return killed / len(left)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("modules", nargs="*", default=list(TESTS))
    asked.add_argument("--count", type=int, default=100)
    asked.add_argument("--seed", type=int, default=1)
    given = asked.parse_args()
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
    shares = [tell(module, given.count, given.seed) for module in given.modules]
    if min(shares) < LEAST:
        raise SystemExit(f"fewer than {LEAST:.0%} of the changes were noticed")


if __name__ == "__main__":
    main()
