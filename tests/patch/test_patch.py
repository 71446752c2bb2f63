"""Unchanged scikit-learn scripts on discern's classes: the same output, and text in less time."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import discern
from discern.estimators import compat

FOLDER = Path(__file__).parent
SCRIPTS = {
    "text_classification": {
        "feature_extraction.text.CountVectorizer", "feature_extraction.text.TfidfTransformer",
        "feature_extraction.text.TfidfVectorizer", "feature_selection.SelectKBest", "feature_selection.chi2",
        "naive_bayes.BernoulliNB", "naive_bayes.ComplementNB", "naive_bayes.MultinomialNB",
    },
    "grid_search": {
        "feature_extraction.text.CountVectorizer", "feature_extraction.text.TfidfTransformer", "naive_bayes.MultinomialNB",
    },
    "discriminants": {
        "discriminant_analysis.LinearDiscriminantAnalysis", "discriminant_analysis.QuadraticDiscriminantAnalysis",
        "naive_bayes.GaussianNB",
    },
}  # fmt: skip
LEAST_RATIO = 3.0
"""How many times faster the text script has to be; it is more, but machines are busy."""


def run(*arguments: str, expected: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == expected, done.stderr
    return done


TIMED = "text_classification"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.alone] if name == TIMED else []) for name in SCRIPTS]
)
def test_a_script_gives_the_same(name: str) -> None:
    script = str(FOLDER / f"{name}.py")
    theirs, ours = run("-W", "error", script), run("-W", "error", "-m", "discern.patch", script)
    assert ours.stdout == theirs.stdout
    assert theirs.stdout.count("\n") >= 5
    replaced = ours.stderr.strip().splitlines()[-1].removeprefix("discern.patch: replaced ")
    assert set(replaced.split(", ")) == {f"sklearn.{one}" for one in SCRIPTS[name]}
    if name == TIMED:
        seconds = [float(re.findall(r"([\d.]+) seconds", done.stderr)[0]) for done in (theirs, ours)]
        assert seconds[0] > LEAST_RATIO * seconds[1], seconds


def test_every_class_is_replaced_by_one_with_the_same_parameters() -> None:
    import importlib
    import inspect

    for place, classes in compat.NAMES.items():
        for name, ours in classes.items():
            theirs = vars(importlib.import_module(place))[name]
            assert ours.__module__.startswith("discern.")
            missing = set(inspect.signature(theirs).parameters) - set(inspect.signature(ours).parameters)
            assert missing == set(), (name, missing)


def test_what_is_left_alone_is_told(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from sklearn import svm\nfrom sklearn.linear_model import LogisticRegression\n"
        "print(LogisticRegression.__module__, svm.SVC.__module__)\n",
        "utf-8",
    )
    done = run("-m", "discern.patch", str(script))
    assert done.stdout == "sklearn.linear_model._logistic sklearn.svm._classes\n"
    assert done.stderr.splitlines() == [
        "discern.patch: left alone sklearn.linear_model.LogisticRegression: "
        "it finds the same optimum to another tolerance",
        "discern.patch: left alone sklearn.svm.SVC: it finds the same optimum to another tolerance",
        "discern.patch: nothing was replaced",
    ]


def test_every_class_that_discern_has_is_replaced_or_left_alone_with_a_reason() -> None:
    from tests.scikit_learn.plugin import PLACES

    public = {place: names for place, names in PLACES.items() if "._" not in place}
    for place, names in public.items():
        known = {*compat.NAMES.get(place, {}), *compat.LEFT_ALONE.get(place, {})}
        assert known == set(names), place


PROOFS = {
    "sklearn.discriminant_analysis": "tests/test_discriminant_analysis.py",
    "sklearn.feature_extraction.text": "feature_extraction/tests/test_text.py",
    "sklearn.feature_selection": "feature_selection/tests/test_feature_select.py",
    "sklearn.linear_model": "linear_model/tests/test_ridge.py",
    "sklearn.naive_bayes": "tests/test_naive_bayes.py",
}
"""The file of scikit-learn's tests that proves the classes of a module equal."""


@pytest.mark.parametrize("place", compat.NAMES)
def test_what_is_replaced_has_no_open_difference(place: str) -> None:
    from tests.scikit_learn import suite

    left = [re.escape(name) for name in compat.LEFT_ALONE.get(place, {})]
    found = [
        test
        for group in suite.differences()
        if group["kind"] == "open"
        for test in group["tests"]
        if test.startswith(f"sklearn/{PROOFS[place]}::")
        and (not left or not re.search(rf"\b({'|'.join(left)})\b", test + group["reason"]))
    ]
    assert found == []


def test_a_script_keeps_its_arguments_folder_and_exit_code(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("WORD = 'beside'\n", "utf-8")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, beside\nfrom sklearn import naive_bayes\nprint(__name__, sys.argv[1:], beside.WORD)\n"
        "print(naive_bayes.GaussianNB.__module__, naive_bayes.__name__)\nsys.exit(7)\n",
        "utf-8",
    )
    done = run("-m", "discern.patch", str(script), "--one", "two", expected=7)
    assert done.stdout.splitlines() == [
        "__main__ ['--one', 'two'] beside",
        "discern.estimators.naive_bayes.gaussian sklearn.naive_bayes",
    ]
    assert done.stderr == "discern.patch: replaced sklearn.naive_bayes.GaussianNB\n"


def test_scikit_learn_sees_its_own_classes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import pickle\nimport sklearn.feature_extraction.text as text\n"
        "theirs = vars(text)['TfidfVectorizer']()\n"
        "print(type(theirs).__mro__[1].__module__, theirs.fit_transform(['a word']).shape)\n"
        "print(type(pickle.loads(pickle.dumps(text.CountVectorizer()))).__module__)\n",
        "utf-8",
    )
    done = run("-m", "discern.patch", str(script))
    assert done.stdout.splitlines() == ["sklearn.feature_extraction.text (1, 1)", "discern.estimators.text.vectorizers"]


MOST_MISSING = 10
"""scikit-learn 1.9 has 92 such docstrings, and its other versions about as many."""


@pytest.mark.timeout(600)
def test_docstrings_of_scikit_learn_give_the_same() -> None:
    program = str(FOLDER / "docstrings.py")
    theirs, ours = (json.loads(run(program, mode).stdout) for mode in ("stock", "patched"))
    assert len(theirs["outputs"]) >= 92 - MOST_MISSING
    assert [name for name, given in theirs["outputs"].items() if ours["outputs"][name] != given] == []
    assert theirs["replaced"] == []
    assert len(ours["replaced"]) >= 10


def test_usage() -> None:
    assert "usage" in run("-m", "discern.patch", expected=2).stdout
    assert "no such script: 'missing.py'" in run("-m", "discern.patch", "missing.py", expected=2).stderr


def test_patching_twice_and_undoing() -> None:
    try:
        compat.patch()
        compat.patch()
        from sklearn.naive_bayes import MultinomialNB

        assert MultinomialNB is discern.MultinomialNB
        assert "sklearn.naive_bayes.MultinomialNB" in compat.replaced()
    finally:
        compat.unpatch()
    from sklearn import naive_bayes

    assert naive_bayes.MultinomialNB.__module__ == "sklearn.naive_bayes"
    assert compat.replaced() == []
