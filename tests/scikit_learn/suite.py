"""scikit-learn's own tests on discern's classes: run them, compare them with the list, and write the table of the site.

    python -m tests.scikit_learn.suite --record [FILE…]    run files, stock and ours, and write what came of them
    python -m tests.scikit_learn.suite --ours [FILE…]      run only ours, which takes half the time
    python -m tests.scikit_learn.suite --table             write the table of docs/howto/from-scikit-learn.md

``differences.json`` lists every test that does not pass, in groups of one kind and one reason. Both ways of recording take
tests that pass now out of it, and put new ones into a group of the kind "open", to be examined.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness.figures import replaced

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RECORDED, DIFFERENCES = HERE / "recorded.json", HERE / "differences.json"
PAGE = ROOT / "docs" / "howto" / "from-scikit-learn.md"
KINDS = {
    "deliberate": "differs on purpose, and its documentation says so",
    "internal": "tests a private part of scikit-learn",
    "open": "a difference that is not closed yet",
}
CORE = (
    "feature_extraction/tests/test_text.py",
    "linear_model/tests/test_logistic.py",
    "metrics/_plot/tests/test_roc_curve_display.py",
    "svm/tests/test_sparse.py",
    "svm/tests/test_svm.py",
    "tests/test_discriminant_analysis.py",
    "tests/test_naive_bayes.py",
)
"""The files that test the classes themselves, or most of them; ``make test`` runs these, ``make soak`` all."""

OTHERS = (
    "ensemble/tests/test_bagging.py",
    "ensemble/tests/test_base.py",
    "ensemble/tests/test_common.py",
    "ensemble/tests/test_stacking.py",
    "ensemble/tests/test_voting.py",
    "ensemble/tests/test_weight_boosting.py",
    "feature_selection/tests/test_chi2.py",
    "feature_selection/tests/test_feature_select.py",
    "feature_selection/tests/test_from_model.py",
    "feature_selection/tests/test_rfe.py",
    "frozen/tests/test_frozen.py",
    "inspection/_plot/tests/test_boundary_decision_display.py",
    "inspection/tests/test_permutation_importance.py",
    "linear_model/tests/test_common.py",
    "linear_model/tests/test_perceptron.py",
    "linear_model/tests/test_ridge.py",
    "linear_model/tests/test_sag.py",
    "linear_model/tests/test_sgd.py",
    "metrics/_plot/tests/test_common_curve_display.py",
    "metrics/_plot/tests/test_confusion_matrix_display.py",
    "metrics/_plot/tests/test_det_curve_display.py",
    "metrics/_plot/tests/test_precision_recall_display.py",
    "metrics/tests/test_score_objects.py",
    "model_selection/tests/test_classification_threshold.py",
    "model_selection/tests/test_search.py",
    "model_selection/tests/test_validation.py",
    "neighbors/tests/test_neighbors.py",
    "semi_supervised/tests/test_self_training.py",
    "svm/tests/test_bounds.py",
    "tests/test_calibration.py",
    "tests/test_multiclass.py",
    "tests/test_multioutput.py",
    "tests/test_pipeline.py",
    "utils/tests/test_response.py",
)
FILES = (*CORE, *OTHERS)


@dataclass(frozen=True)
class Outcomes:
    """What became of the tests of a file: the outcome of each, which fitted one of our estimators, and the errors."""

    tests: dict[str, str]
    fitted: frozenset[str]
    errors: dict[str, str]

    def failed(self) -> set[str]:
        return {test for test, outcome in self.tests.items() if outcome == "failed"}

    def counts(self) -> dict[str, int]:
        """Return how many tests ran and passed, and how many of those that fitted one of our estimators."""
        ran = {test for test, outcome in self.tests.items() if outcome != "skipped"}
        passed, fitted = ran - self.failed(), ran & self.fitted
        return {"tests": len(ran), "passed": len(passed), "fitted": len(fitted), "fitted_passed": len(fitted & passed)}


def installed() -> str:
    return importlib.metadata.version("scikit-learn")


def run(file: str, stock: bool = False) -> Outcomes:
    """Run the tests of a file in a process that knows nothing of this project's configuration."""
    found = importlib.util.find_spec("sklearn")
    assert found is not None
    assert found.origin is not None
    site = Path(found.origin).parents[1]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "SCIPY", "SKLEARN"))}
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    with tempfile.TemporaryDirectory() as folder:
        outcomes = Path(folder) / "outcomes.json"
        command = [
            *(sys.executable, "-m", "pytest", "-c", os.devnull, "-p", "tests.scikit_learn.plugin"),
            *("-p", "no:cacheprovider", "--rootdir", str(site), "--confcutdir", str(site), "--quiet", "--tb=short"),
            *("--outcomes", str(outcomes), *(["--stock"] if stock else []), str(site / "sklearn" / file)),
        ]
        environment = {**clean, **threads, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert outcomes.exists(), done.stdout + done.stderr
        made = json.loads(outcomes.read_text("utf-8"))
    return Outcomes(made["outcomes"], frozenset(made["fitted"]), made["errors"])


# ---------------------------------------------------------------------------------------------------------- the list


def recorded() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(RECORDED.read_text("utf-8"))
    return made


def differences() -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = json.loads(DIFFERENCES.read_text("utf-8"))
    return made


def listed(file: str) -> set[str]:
    """Return the tests of a file that are known not to pass."""
    return {test for group in differences() for test in group["tests"] if test.startswith(f"sklearn/{file}::")}


def surprises(outcomes: Outcomes, known: set[str]) -> list[str]:
    """Return what differs from the list, a sentence each."""
    found = [f"{test} fails: {_last_line(outcomes.errors.get(test, ''))}" for test in sorted(outcomes.failed() - known)]
    for test in sorted(known - outcomes.failed()):
        outcome = outcomes.tests.get(test, "no test any more")
        found.append(f"{test} is listed as failing, but is {outcome}")
    return found


def _last_line(error: str) -> str:
    lines = [line.removeprefix("E").strip() for line in error.splitlines() if line.startswith("E ")]
    return lines[0] if lines else error.strip()[-200:]


# --------------------------------------------------------------------------------------------------------- recording


def record(files: Iterable[str], with_stock: bool = True) -> None:
    """Run files, ours and unless told otherwise stock, and write counts and differences."""
    chosen = list(files)
    known = recorded() if RECORDED.exists() else {"files": {}}
    groups = differences() if DIFFERENCES.exists() else []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        stock = pool.map(_passed_stock, chosen) if with_stock else map(known["files"].get, chosen)
        for file, ours, before in zip(chosen, pool.map(run, chosen), stock, strict=True):
            passed = before if with_stock else (before or {}).get("stock")
            known["files"][file] = {"stock": passed, **ours.counts()}
            groups = updated(groups, file, ours)
            print(file, known["files"][file], flush=True)
    known["scikit-learn"] = installed()
    known["files"] = {file: known["files"][file] for file in FILES if file in known["files"]}
    RECORDED.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
    DIFFERENCES.write_text(json.dumps(groups, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _passed_stock(file: str) -> int:
    return run(file, stock=True).counts()["passed"]


def updated(groups: list[dict[str, Any]], file: str, outcomes: Outcomes) -> list[dict[str, Any]]:
    """Return the groups without tests of a file that pass, and with its new failures in one that is open."""
    failed, mine = outcomes.failed(), f"sklearn/{file}::"
    kept = [
        {**group, "tests": [test for test in group["tests"] if not test.startswith(mine) or test in failed]}
        for group in groups
    ]
    new = failed - {test for group in kept for test in group["tests"]}
    for test in sorted(new):
        reason = f"to be examined: {_last_line(outcomes.errors.get(test, ''))}"[:160]
        kept.append({"kind": "open", "reason": reason, "tests": [test]})
    return [group for group in kept if group["tests"]]


# ------------------------------------------------------------------------------------------------------------- table


def table() -> str:
    """Return the counts of every file, and the reasons of what does not pass, as Markdown."""
    counts = recorded()
    rows = counts["files"]
    lines = [
        f"scikit-learn {counts['scikit-learn']}. Skipped tests are not counted. *Fitted*: tests in which one of "
        "discern's estimators was fitted. –: not measured.",
        "",
        "| tests | in all | pass with scikit-learn | pass with discern | fitted | of these pass |",
        "| --- | --- | --- | --- | --- | --- |",
        *(_row(f"`{name}`", [row]) for name, row in rows.items()),
        _row("**all**", list(rows.values())),
        "",
        "| kind | tests | reason |",
        "| --- | --- | --- |",
        *(f"| {group['kind']} | {len(group['tests'])} | {group['reason']} |" for group in _by_kind()),
    ]
    return "\n".join(lines)


def _row(name: str, rows: list[dict[str, Any]]) -> str:
    tests, passed, fitted, well = (
        sum(row[key] for row in rows) for key in ("tests", "passed", "fitted", "fitted_passed")
    )
    known = [row["stock"] for row in rows if row["stock"] is not None]
    stock = f"{sum(known):,}" if len(known) == len(rows) else "–"
    share = f" ({well / fitted:.1%})" if fitted else ""
    return f"| {name} | {tests:,} | {stock} | {passed:,} | {fitted:,} | {well:,}{share} |"


def _by_kind() -> list[dict[str, Any]]:
    order = list(KINDS)
    return sorted(differences(), key=lambda group: (order.index(group["kind"]), -len(group["tests"]), group["reason"]))


def page() -> str:
    """Return the page with the table between its markers."""
    return replaced(PAGE.read_text("utf-8"), "suite", table())


def main(arguments: list[str]) -> None:
    if arguments[:1] in (["--record"], ["--ours"]):
        record(arguments[1:] or FILES, with_stock=arguments[0] == "--record")
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
