"""How many small changes of a module its tests notice: changes one at a time, in a copy of the package.

    python tests/mutation.py MODULE COUNT TEST [TEST ...]

For example ``python tests/mutation.py statistics 60 tests/test_statistics.py tests/laws/test_counts.py``. Prints each
change that the tests did not notice, and the share that they did. Changes are drawn at random, always the same ones.
"""

import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "python" / "discern"
COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COMPUTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
SECONDS = 300


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


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """Give every changed source with a word about the change."""
    tree = ast.parse(source)
    for number, node in enumerate(places(tree)):
        if change(copy.deepcopy(node)) is None:
            continue
        changed = copy.deepcopy(tree)
        target = list(places(changed))[number]
        before = ast.unparse(target)
        told = change(target)
        yield ast.unparse(changed), f"line {getattr(node, 'lineno', 0)}, {told}: {before[:90]}"


def notices(folder: Path, tests: list[str]) -> bool:
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "CI": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def main(module: str, count: int, tests: list[str]) -> None:
    every = list(mutants((PACKAGE / f"{module}.py").read_text(encoding="utf-8")))
    chosen = random.Random(1).sample(every, min(count, len(every)))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(PACKAGE, folder / "discern", ignore=shutil.ignore_patterns("__pycache__"))
        if notices(folder, tests):
            raise SystemExit("the tests fail without any change")
        killed = 0
        for place, (source, told) in enumerate(chosen, 1):
            (folder / "discern" / f"{module}.py").write_text(source, encoding="utf-8")
            noticed = notices(folder, tests)
            killed += noticed
            if not noticed:
                print("not noticed:", told, flush=True)
            print(f"{module}: {killed} of {place} noticed (of {len(every)} changes)", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
