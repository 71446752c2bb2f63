"""A classifier that embeds texts as it reads them."""

from __future__ import annotations

import hashlib
import itertools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discern import Classifier, Embedder, cross_validate, load
from discern.data.readers import Sources
from discern.data.strings import DataError
from tests.static_embeddings import HAM_WORDS, SPAM_WORDS, write

MODELS = ("naive-bayes", "multinomial", "bernoulli", "logistic", "linear-svm", "lda", "knn", "best")


def encode(texts: list[str]) -> Any:
    """Embed texts by the sum of a vector for each word."""
    found = np.zeros((len(texts), 6), np.float32)
    for place, text in enumerate(texts):
        for word in text.lower().split():
            seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "little")
            found[place] += np.random.RandomState(seed).standard_normal(6)
    return found


def rows(count: int = 240, seed: int = 0) -> list[dict[str, str]]:
    draw = np.random.RandomState(seed)
    words = {"spam": SPAM_WORDS, "ham": HAM_WORDS}
    labels = [("spam", "ham")[place % 2] for place in range(count)]
    return [{"label": one, "text": " ".join([*draw.choice(words[one], 3), f"w{draw.randint(40)}"])} for one in labels]


@pytest.mark.parametrize("model", MODELS)
def test_every_model_embeds_texts_and_is_known_again(model: str, tmp_path: Path) -> None:
    fitted = Classifier(model=model, embed=encode, budget=2.0).fit(rows())
    assert "embedding of 'text'" in [feature.described for feature in fitted.resolved.features]
    assert fitted.evaluate(rows(seed=1)).accuracy > 0.95
    fitted.save(tmp_path / "m.discern")
    again = load(tmp_path / "m.discern", embed=encode)
    texts = ["win money", "lunch at noon", "", "zz"]
    np.testing.assert_array_equal(again.predict_proba(texts), fitted.predict_proba(texts))
    assert again.checksum() == fitted.checksum()
    assert [again.predict_one(text) for text in texts] == again.predict(texts).tolist()
    assert any(term.term.startswith("embedding") or term.column == "neighbors" for term in again.explain("win").terms)


def test_a_model_without_its_embedder_refuses(tmp_path: Path) -> None:
    Classifier(embed=Embedder(encode, name="sums")).fit(rows()).save(tmp_path / "m.discern")
    model = load(tmp_path / "m.discern")
    needs = r"embeds texts with 'sums' \(6 numbers\), and no embedder was passed"
    for use in (
        lambda: model.predict(["x"]),
        lambda: model.explain("x"),
        lambda: model.learn(rows(2)),
        lambda: model.fit(rows()),
        lambda: cross_validate(model, rows(), folds=2),
    ):
        with pytest.raises(DataError, match=needs):
            use()
    with pytest.raises(DataError, match="trained with the embedder 'sums'"):
        model.embed_with(lambda texts: np.ones((len(texts), 6)))
    with pytest.raises(DataError, match="embeds no texts"):
        Classifier().fit(rows()).embed_with(encode)
    assert model.embed_with(encode).predict(["win money"]).tolist() == ["spam"]
    with pytest.raises(DataError, match="embed needs a text column"):
        Classifier(embed=encode).fit({"label": ["a", "b"], "size": [1.5, 2.5]})


def test_learning_forgetting_and_merging_are_exact() -> None:
    every = rows(300)
    model = Classifier(embed=encode, smoothing=0.5).fit(every)
    before = model.checksum()
    assert model.learn(rows(50, seed=3)).forget(rows(50, seed=3)) == before
    parts = [Classifier(embed=encode, smoothing=0.5).fit(every).forget(part) for part in (every[:100], every[100:])]
    assert len(set(parts)) == 2
    one, two = (Classifier(embed=encode, smoothing=0.5).fit(every) for _ in range(2))
    one.forget(every[:100])
    two.forget(every[100:])
    merged = one.merge(two)
    assert merged.checksum() == before
    assert merged.predict(["win money"]).tolist() == ["spam"]


@pytest.mark.parametrize("smoothing", ["auto", 1.0])
def test_each_text_is_embedded_once(smoothing: Any, tmp_path: Path) -> None:
    seen: list[str] = []

    def counting(texts: list[str]) -> Any:
        seen.extend(texts)
        return encode(texts)

    embedder = Embedder(counting)
    _ = embedder.identity
    seen.clear()
    file = tmp_path / "rows.csv"
    file.write_text("label,text\n" + "".join(f"{row['label']},{row['text']} {n}x\n" for n, row in enumerate(rows())))
    Classifier(embed=embedder, smoothing=smoothing).fit(Sources((str(file),)))
    assert len(seen) == 240


def test_missing_texts_have_no_embedding() -> None:
    model = Classifier(embed=encode).fit([*rows(), {"label": "spam", "text": ""}, {"label": "ham", "text": None}])
    shares = model.predict_proba([{"text": None}, {"text": ""}])
    np.testing.assert_allclose(shares, np.exp(model.solved.prior)[None].repeat(2, 0), rtol=1e-9)


def test_several_texts_and_other_columns() -> None:
    several = [{**row, "subject": row["text"].split()[0], "size": place} for place, row in enumerate(rows())]
    model = Classifier(embed=encode, text=["subject", "text"], number="size").fit(several)
    described = [feature.described for feature in model.resolved.features]
    assert {"embedding of 'text'", "embedding of 'subject'"} <= {*described}
    assert model.predict([{"text": "win money", "subject": None, "size": 3}]).tolist() == ["spam"]


def test_a_copy_by_pickle_embeds() -> None:
    model = pickle.loads(pickle.dumps(Classifier(embed=encode).fit(rows())))
    assert model.predict(["win money now"]).tolist() == ["spam"]


def test_errors_of_the_embedder_name_the_row() -> None:
    def bad(texts: list[str]) -> Any:
        return [[np.nan if "broken" in text else 1.0, float(len(text))] for text in texts]

    with pytest.raises(DataError, match=r"row 2 .*column 'text'.*not finite for 'broken'"):
        Classifier(embed=bad).fit([{"label": "a", "text": "x"}, {"label": "b", "text": "broken"}])


def test_a_folder_on_the_command_line(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from discern.cli.main import app

    write(tmp_path / "static")
    write(tmp_path / "other", seed=5)
    data, model, folder = (str(tmp_path / name) for name in ("rows.csv", "m.discern", "static"))
    lines = [f"{row['label']},{row['text']}" for row in rows()]
    Path(data).write_text("\n".join(["label,text", *lines]) + "\n")

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, list(arguments))

    assert run("fit", data, "-o", model, "--embed", folder).exit_code == 0
    before = Path(model).read_bytes()
    for command in (["evaluate", model, data], ["explain", model, "win money"], ["predict", model, data]):
        assert run(*command, "--embed", folder).exit_code == 0
        assert run(*command).exit_code != 0
        assert run(*command, "--embed", str(tmp_path / "other")).exit_code != 0
    for command in ("learn", "forget"):
        assert run(command, model, data, "--embed", folder).exit_code == 0
    assert Path(model).read_bytes() == before


def test_vectors_beside_a_file_on_the_command_line(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from discern.cli.main import app

    draw = np.random.RandomState(0)
    labels = ["a", "b"] * 60
    points = draw.standard_normal((120, 4)) + 4.0 * np.array([label == "b" for label in labels])[:, None]
    np.save(tmp_path / "points.npy", points)
    data, model = str(tmp_path / "rows.csv"), str(tmp_path / "m.discern")
    Path(data).write_text("\n".join(["label", *labels]) + "\n")
    beside = ("--vectors", f"point={tmp_path / 'points.npy'}")
    assert CliRunner().invoke(app, ["fit", data, "-o", model, "--vector", "point", *beside]).exit_code == 0
    found = CliRunner().invoke(app, ["evaluate", model, data, "--json", *beside])
    assert '"accuracy": 1.0' in found.stdout
    for wrong in ("points.npy", "=x", "point="):
        assert CliRunner().invoke(app, ["fit", data, "-o", model, "--vectors", wrong]).exit_code == 2


def test_a_search_by_forgetting_and_learning_is_a_fit(tmp_path: Path) -> None:
    """Any order of changes gives the bytes of one fit."""
    every = rows(60)
    whole = Classifier(embed=encode, smoothing=1.0).fit(every)
    for order in itertools.islice(itertools.permutations(range(3)), 4):
        model = Classifier(embed=encode, smoothing=1.0).fit(every)
        parts = [every[20 * place : 20 * place + 20] for place in order]
        model.forget(parts[0])
        model.learn(parts[0])
        model.relabel(parts[1], parts[1])
        assert model.checksum() == whole.checksum()
