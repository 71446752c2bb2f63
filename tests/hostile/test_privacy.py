"""Words that must not be kept are in no byte of any file that is written: model, report, evaluation, page, log."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discern.classifier import Classifier, load
from discern.service.settings import Settings
from tests.service.running import Client, in_process

CANARY = "xqcanary"
SPACE = ("logistic", "linear-svm", "ridge", "lda", "qda", "knn", "svm")


def rows(secret: bool = True) -> list[dict[str, str]]:
    common = [
        {"label": f"l{i % 2}", "text": f"quite common {'words' if i % 2 else 'things'} here number{i % 3}", "kind": "k"}
        for i in range(120)
    ]
    hidden = [{"label": "l0", "text": f"quite {CANARY}secret common things here", "kind": "k"}] if secret else []
    return common + hidden


def holds_canary(path: Path) -> bool:
    return CANARY.encode() in path.read_bytes()


@pytest.mark.parametrize("name", ["naive-bayes", "multinomial", "bernoulli", "complement", *SPACE])
def test_words_below_min_df_are_in_no_file_that_only_predicts(tmp_path: Path, name: str) -> None:
    """Slim files and models in a vector space; the counts that learning needs are only in whole files."""
    path = tmp_path / "m.discern"
    settings = {"characters": (8, 8)} if name in ("logistic", "linear-svm") else {}
    Classifier(text="text", model=name, min_df=2, **settings).fit(rows()).save(path, slim=True)
    assert not holds_canary(path)
    assert b"common" in path.read_bytes()


def test_words_that_are_filtered_are_in_no_model_file(tmp_path: Path) -> None:
    """Stop words are listed in the settings, and nowhere else; what a pattern does not match is nowhere."""
    path = tmp_path / "m.discern"
    with pytest.raises(ValueError, match="nothing would be filtered"):
        Classifier(text="text", pattern=r"[a-w]{4,}")
    Classifier(text="text", analyzer="pattern", pattern=r"\b[a-w]{4,}\b", smoothing=1.0).fit(rows()).save(path)
    assert not holds_canary(path)
    Classifier(text="text", model="linear-svm", max_terms=5).fit(rows()).save(path)
    assert not holds_canary(path)


def test_forgotten_words_are_in_no_file(tmp_path: Path) -> None:
    path = tmp_path / "m.discern"
    model = Classifier(text="text", smoothing=1.0).fit(rows())
    model.save(path)
    assert holds_canary(path)
    model.forget(rows()[-1:])
    model.save(path)
    assert not holds_canary(path)
    loaded = load(path)
    loaded.save(tmp_path / "again.discern", slim=True)
    assert not holds_canary(tmp_path / "again.discern")


SECRETS = (48151.62342108, -917.4385261, 3.0517421e-9, 7.1341822e305)
"""Numbers of forgotten rows: an outlier on each side, one near zero, one far out."""


def sized(secrets: Sequence[float] = SECRETS) -> list[dict[str, Any]]:
    common = [{"label": f"l{i % 2}", "size": i % 7 + 0.1 * (i % 3) + 3 * (i % 2)} for i in range(150)]
    return common + [{"label": "l1", "size": secret} for secret in secrets]


def forms(number: float) -> dict[str, bytes]:
    """Return what a number may be written as: text, floats, and its integer on a grid, at each place within a byte."""
    found = {text: text.encode() for text in (repr(number), f"{number:.6g}", f"{number:.9g}", f"{number:.12g}")}
    for kind in ("<f8", ">f8", "<f4", ">f4"):
        with np.errstate(over="ignore"):
            found[kind] = np.array(number).astype(kind).tobytes()
    for name, exact in (("x", Fraction(abs(number))), ("x²", Fraction(number) ** 2)):
        odd = exact.numerator >> ((exact.numerator & -exact.numerator).bit_length() - 1)
        for shift in range(8):
            for sign in (1, -1):
                integer = sign * (odd << shift)
                width = integer.bit_length() // 8 + 1
                # The ends may hold bits of other sums.
                found[f"{sign} {name} << {shift}"] = integer.to_bytes(width, "little", signed=True)[1:-1]
    return found


@pytest.mark.parametrize("numbers", ["gaussian", "quantile", "uniform", "mdl", "auto"])
@pytest.mark.parametrize("secrets", [SECRETS, *[(one,) for one in SECRETS]], ids=len)
def test_forgotten_numbers_are_in_no_file(tmp_path: Path, numbers: str, secrets: tuple[float, ...]) -> None:
    path, model = tmp_path / "m.discern", Classifier(number="size", numbers=numbers).fit(sized(secrets))
    if numbers == "gaussian":  # the only number of its label is its mean: what is looked for would be found
        alone = Classifier(number="size", numbers=numbers, smoothing=1.0)
        alone.fit([*sized(()), {"label": "l2", "size": secrets[0]}]).save(path, slim=True)
        assert forms(secrets[0])["<f8"] in path.read_bytes()
    model.forget(sized(secrets)[150:])
    for slim in (False, True):
        model.save(path, slim=slim)
        content = path.read_bytes()
        for secret in secrets:
            assert [name for name, form in forms(secret).items() if form in content] == []


@pytest.mark.parametrize("numbers", ["quantile", "uniform", "mdl"])
def test_no_edge_of_a_bin_is_a_number_of_a_row(numbers: str) -> None:
    random = np.random.default_rng(1)
    size = np.round(random.normal(size=500), 2)
    model = Classifier(number="size", numbers=numbers).fit({"label": (size > 0.5).tolist(), "size": size})
    edges = model.features[0].edges
    assert edges is not None
    assert len(edges) > 2
    assert not {*edges} & {*size.tolist()}


PROGRAM = """
import sys
from discern.cli.__main__ import main
sys.argv = ["discern", *sys.argv[1:]]
main()
"""


def test_no_canary_in_reports_or_what_is_printed(tmp_path: Path, run_python: Callable[..., str]) -> None:
    data, model, report = tmp_path / "rows.csv", tmp_path / "m.discern", tmp_path / "report.html"
    judged = tmp_path / "judged.csv"
    for path, some in ((data, rows()), (judged, rows(secret=False))):
        path.write_text("label,text\n" + "".join(f"{row['label']},{row['text']}\n" for row in some), encoding="utf-8")
    printed = [
        run_python(PROGRAM, "fit", data, "-o", model, "--min-df", 2, "--slim"),
        run_python(PROGRAM, "info", model),
        run_python(PROGRAM, "evaluate", model, judged),
        run_python(PROGRAM, "report", model, judged, "-o", report),
        run_python(PROGRAM, "explain", model, "quite common things"),
    ]
    assert CANARY not in "".join(printed)
    assert not holds_canary(model)
    assert not holds_canary(report)
    left = [path for path in tmp_path.iterdir() if path not in (data, judged)]
    assert not [path.name for path in left if path.is_file() and holds_canary(path)]


SHOWN = [
    "/v1/feedback", "/", "/page/main.js", "/v1/model", "/v1/model/words?label=l0&top=1000", "/v1/model/form", "/v1/model/evaluation",
    "/v1/model/evaluation.html", "/metrics", "/health", "/ready", "/openapi.json", "/problems",
]  # fmt: skip


def shown(client: Client, paths: list[str] = SHOWN) -> bytes:
    """Everything that the service and its page show without being told a text, and what they say of other texts."""
    pages = [client.send("GET", path) for path in paths]
    asked = [client.send("POST", path, {"text": "quite common things"}) for path in ("/v1/predict", "/v1/explain")]
    assert [status for status, *_ in (*pages, *asked)] == [200] * (len(paths) + 2)
    return b"".join(content for *_, content in (*pages, *asked))


def held_out(folder: Path) -> str:
    path = folder / "held-out.csv"
    lines = [f"{row['label']},{row['text']}\n" for row in rows(secret=False)]
    path.write_text("label,text\n" + "".join(lines), encoding="utf-8")
    return str(path)


def test_rare_words_are_on_no_page_and_in_no_line_of_the_log(tmp_path: Path) -> None:
    path = tmp_path / "m.discern"
    Classifier(text="text", ignore="*", min_df=2, smoothing=1.0).fit(rows()).save(path)
    with in_process(Settings(path, held_out=held_out(tmp_path))) as (client, journal):
        content = shown(client)
    assert b"common" in content
    assert CANARY.encode() not in content
    assert len(journal.lines) > len(SHOWN)
    assert CANARY not in "".join(journal.lines)


def test_words_learned_and_forgotten_by_a_service_are_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "m.discern"
    Classifier(text="text", ignore="*", smoothing=1.0).fit(rows(secret=False)).save(path)
    with in_process(Settings(path, held_out=held_out(tmp_path))) as (client, journal):
        secret = {"rows": [{"label": "l0", "text": f"{CANARY}secret things"}]}
        told = client.post("/v1/learn", secret)
        client.post("/v1/predict", {"text": "quite"}, discern_after=str(told["sequence"]))
        assert CANARY.encode() in shown(client)  # while it is known
        told = client.post("/v1/forget", secret)
        client.post("/v1/predict", {"text": "quite"}, discern_after=str(told["sequence"]))
        assert CANARY.encode() not in shown(client, SHOWN[1:])
        client.post("/v1/compact", None)  # until then the list of what was taught can be undone
        assert CANARY.encode() not in shown(client)
    assert CANARY not in "".join(journal.lines)
    assert not [one.name for one in tmp_path.iterdir() if one.is_file() and holds_canary(one)]
