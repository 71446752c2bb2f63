"""Run the examples of scikit-learn's docstrings that use classes which discern has, and print what each gives.

python tests/patch/docstrings.py stock|patched
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import json
import os
import pkgutil
import re
import sys
import warnings
from collections.abc import Iterator
from typing import Any

SKIPPED = re.compile(r"\bfetch_|polars|n_jobs=|import pandas as pd")
"""What loads data from the net, starts processes, or needs what may not be installed."""

ADDRESS = re.compile(r"\b0x[0-9a-f]+")


def modules() -> Iterator[Any]:
    import sklearn

    for found in pkgutil.walk_packages(sklearn.__path__, "sklearn."):
        if not re.search(r"\.(tests|externals|conftest|_build_utils|experimental)\b|\.__main__$", found.name):
            with contextlib.suppress(ImportError):
                yield importlib.import_module(found.name)


def docstrings(names: list[str]) -> dict[str, doctest.DocTest]:
    """Return the examples that use one of the names, by the object that they document."""
    finder, used, found = doctest.DocTestFinder(), re.compile(rf"\b({'|'.join(names)})\b"), {}
    for module in modules():
        for test in finder.find(module, module.__name__, extraglobs={}):
            source = "".join(example.source for example in test.examples)
            if used.search(source) and not SKIPPED.search(source):
                found[test.name] = test
    return found


def outputs(test: doctest.DocTest) -> list[str]:
    """Return what each example prints, in a module that is not scikit-learn's."""
    space: dict[str, Any] = {"__name__": "__main__"}
    given = []
    for example in test.examples:
        if example.options.get(doctest.SKIP):
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(example.source, test.name, "single"), space)
            except Exception as error:
                print(f"{type(error).__name__}: {error}")
        given.append(ADDRESS.sub("0x…", printed.getvalue()))
    return given


def main(mode: str) -> None:
    os.environ["MPLBACKEND"] = "Agg"
    warnings.simplefilter("ignore")
    import numpy as np

    from discern.estimators import compat

    names = sorted({name for table in (compat.NAMES, compat.LEFT_ALONE) for names in table.values() for name in names})
    tests = docstrings(names)
    if mode == "patched":
        compat.patch()
    found = {}
    for name, test in sorted(tests.items()):
        np.random.seed(0)  # noqa: NPY002 - the examples draw from this generator
        found[name] = outputs(test)
    json.dump({"outputs": found, "replaced": compat.replaced()}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
