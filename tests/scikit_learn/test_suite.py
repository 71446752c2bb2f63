"""scikit-learn's own tests pass on discern's classes, but for those that the list names with a reason."""

from __future__ import annotations

import pytest

from tests.scikit_learn import suite
from tests.scikit_learn.suite import Outcomes

VERSION = suite.recorded()["scikit-learn"]
same_version = pytest.mark.skipif(
    suite.installed() != VERSION,
    reason=f"the list is for scikit-learn {VERSION}; run: python -m tests.scikit_learn.suite --record",
)


def check(file: str) -> None:
    outcomes = suite.run(file)
    assert suite.surprises(outcomes, suite.listed(file)) == []
    recorded = suite.recorded()["files"][file]
    assert {**outcomes.counts(), "stock": recorded["stock"]} == recorded, (
        "run: python -m tests.scikit_learn.suite --record"
    )


@same_version
@pytest.mark.timeout(900)
@pytest.mark.parametrize("file", suite.CORE)
def test_core(file: str) -> None:
    check(file)


@same_version
@pytest.mark.soak
@pytest.mark.parametrize("file", suite.OTHERS)
def test_others(file: str) -> None:
    check(file)


def test_every_file_is_recorded() -> None:
    assert list(suite.recorded()["files"]) == list(suite.FILES)


def test_every_difference_has_a_kind_and_one_reason() -> None:
    groups = suite.differences()
    tests = [test for group in groups for test in group["tests"]]
    assert len(tests) == len(set(tests))
    assert {group["kind"] for group in groups} <= set(suite.KINDS)
    assert all(group["reason"].strip() and "\n" not in group["reason"] for group in groups)
    failing = {file: row["tests"] - row["passed"] for file, row in suite.recorded()["files"].items()}
    assert {file: len(suite.listed(file)) for file in failing} == failing


def test_the_page_has_the_table() -> None:
    assert suite.PAGE.read_text("utf-8") == suite.page(), "run: python -m tests.scikit_learn.suite --table"


# -------------------------------------------------------------------------------------------- the suite sees changes

OUTCOMES = Outcomes({"sklearn/a::x": "failed", "sklearn/a::y": "passed"}, frozenset(), {"sklearn/a::x": "E   why"})


def test_a_test_that_newly_fails_or_passes_is_an_error() -> None:
    assert suite.surprises(OUTCOMES, {"sklearn/a::x"}) == []
    assert suite.surprises(OUTCOMES, set()) == ["sklearn/a::x fails: why"]
    assert suite.surprises(OUTCOMES, {"sklearn/a::x", "sklearn/a::y", "sklearn/a::z"}) == [
        "sklearn/a::y is listed as failing, but is passed",
        "sklearn/a::z is listed as failing, but is no test any more",
    ]


def test_recording_keeps_reasons_and_drops_what_passes() -> None:
    groups = [
        {"kind": "internal", "reason": "private", "tests": ["sklearn/a::y", "sklearn/b::q"]},
        {"kind": "deliberate", "reason": "documented", "tests": ["sklearn/a::gone"]},
    ]
    assert suite.updated(groups, "a", OUTCOMES) == [
        {"kind": "internal", "reason": "private", "tests": ["sklearn/b::q"]},
        {"kind": "open", "reason": "to be examined: why", "tests": ["sklearn/a::x"]},
    ]
