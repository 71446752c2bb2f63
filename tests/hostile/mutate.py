"""Damages model files in many ways, loads and uses each: run as a program in a process with little memory.

    python mutate.py FOLDER SEED COUNT

Ends with an error if a file is neither refused nor used well. Files whose checksum fits again, as an attacker would
make them, may answer anything, but with labels and probabilities. Beyond what the process has when it begins, there is
memory for twice the largest file and 64 MB.
"""

import json
import random
import resource
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas
import pytest
import scipy.sparse

from discern import _native
from discern.classifier import Classifier
from discern.estimators.neighbors import KNeighborsClassifier
from discern.evaluation.decisions import Decision
from discern.models import file as files
from discern.models.file import ModelFileError

MEMORY = 64 << 20
ASKED = ["win prize", "lunch at noon", "née 你好", "", "win " * 50]
SPOKEN = {
    "text": ["win prize née", "", "lunch"],
    "category": ["fr", None, "atlantis"],
    "flag": ["yes", "?", "perhaps"],
    "number": [1.5, None, -1e99],
}
SPACE = ("logistic", "linear-svm", "nbsvm", "ridge", "lda", "qda", "centroids", "knn", "svm")
VALUES = [
    None, True, False, -1, 0, 1, 2, 3, 10**6, 2**31, 2**53, 2**62, 2**63, 2**64, 10**30, -(2**63), 0.5, 1e-320, 1e308,
    float("nan"), float("inf"), "", "text", "label", "word", "char", "pattern", "given", "(", "(a)(b)", "bernoulli",
    "complement", "uniform", "\ud800", "\0", "x" * 1000, [], [1], [1, 2], ["a", "b"], ["a", "a"], {}, {"a": 1.0},
    {"ham": 0.5, "spam": 0.5}, {"kind": "Laplace", "alpha": [1.0, 2.0]}, {"kind": "Dirichlet", "mass": 1e300},
    "number", "category", "flag", "size", [0.0, 1.0], [1.0, 0.0], ["-inf", "inf"], ["nan", 1.0], [0.0, 1.0, 1e300],
    {"name": "size", "role": "number", "edges": None}, {"kind": "temperature", "temperature": 1e-300, "power": 1.0},
]  # fmt: skip


def sources() -> list[Classifier]:
    rows = [
        {"label": "spam", "text": "win a free prize now, win"},
        {"label": "ham", "text": "lunch at noon née"},
        {"label": "ham", "text": "你好 noon, dinner tomorrow"},
    ]
    return [
        Classifier(text="text").fit(rows),
        Classifier(text="text", ngrams=(1, 2), tokenizer="sklearn", priors={"ham": 0.4, "spam": 0.6}).fit(rows),
        Classifier(text="text", model="bernoulli", normalization="vocabulary", stop_words=["at"]).fit(rows),
        Classifier(text="text", model="complement", analyzer="char_wb", ngrams=(2, 3)).fit(rows),
        mixed(smoothing=1.0, numbers="mdl"),
        mixed(smoothing=0.3, numbers="gaussian", model="bernoulli", priors="uniform"),
        mixed(smoothing=1.0, numbers="quantile", calibrate=True),
        mixed(numbers="gaussian", ngrams=(1, 1)),
        levels_only(),
        many_labels(),
        *(mixed(model=name, numbers="auto", ngrams=(1, 1)) for name in SPACE),
        Classifier(text="text", model="knn", calibrate=False, min_df=1).fit(rows),
        Classifier(text="text", model="linear-svm", characters=(2, 3), max_terms=20).fit(rows),
        Classifier(text="text").fit(rows).decide_by(Decision.at(0.3, "spam")),
        Classifier(text="text").fit(rows).decide_by(Decision.of_costs([[0, 5], [1, 0]], ["ham", "spam"], unsure=0.3)),
    ]


def neighbors() -> list[KNeighborsClassifier]:
    """The estimator that writes files of its own, one for each way in which it keeps rows."""
    table = np.random.default_rng(1).integers(0, 2, (20, 5)).astype(float)
    labels = np.array(["ham", "spam"])[np.arange(20) % 2]
    return [
        KNeighborsClassifier(metric="euclidean", weights="distance").fit(table + 0.5, labels),
        KNeighborsClassifier(metric="cosine", n_neighbors="auto").fit(table, np.arange(20) % 3),
        KNeighborsClassifier(metric="hamming").fit(table, np.arange(20) % 2 == 0),
    ]


def many_labels() -> Classifier:
    """So many labels and terms that the weights are kept sparse."""
    import discern.learners.bayes as bayes

    most, bayes.MOST_DENSE = bayes.MOST_DENSE, 50
    try:
        return Classifier(text="text").fit([{"label": f"l{i % 9}", "text": f"word{i} win"} for i in range(30)])
    finally:
        bayes.MOST_DENSE = most


def mixed(**settings: Any) -> Classifier:
    """Learn from every kind of column; enough rows to choose and to calibrate by."""
    rows = [
        {
            "label": ["ham", "spam"][i % 2],
            "text": f"word{i % 5} {['noon', 'win'][i % 2]}",
            "body": "" if i % 4 else "née prize",
            "country": ["fr", "de", "né", None][i * i % 4],
            "paid": ["yes", "no"][i % 3 % 2],
            "age": None if i % 7 == 0 else i % 11 + 5 * (i % 2),
            "size": 0.25 * (i % 13) - (i % 2),
            "hour": i % 24,
        }
        for i in range(120)
    ]
    roles = {"text": ["text", "body"], "category": "country", "flag": "paid", "number": ["age", "size", "hour"]}
    model = Classifier(**roles, **settings).fit(rows)
    if settings["numbers"] == "mdl":  # one of the numbers keeps its densities
        given = tuple(replace(one, edges=None) if one.name == "hour" else one for one in model.features)
        model.settings = replace(model.settings, columns=given, numbers="gaussian")
        model.fit(rows)
    return model


def levels_only() -> Classifier:
    rows = [{"label": "ab"[i % 2], "country": "xyz"[i % 3], "size": float(i)} for i in range(6)]
    return Classifier(category="country", number="size", numbers="gaussian", smoothing=1.0).fit(rows)


def change_json(source: random.Random, value: object) -> object:
    """Replace, add or remove something somewhere within."""
    if isinstance(value, dict) and value and source.random() < 0.9:
        name = source.choice(sorted(value))
        if source.random() < 0.1:
            return {key: item for key, item in value.items() if key != name}
        return {**value, name: change_json(source, value[name])}
    if isinstance(value, list) and value and source.random() < 0.7:
        place = source.randrange(len(value))
        if source.random() < 0.2:
            return value[:place] + value[place + 1 :]
        return [*value[:place], change_json(source, value[place]), *value[place + 1 :]]
    return source.choice(VALUES)


def change_array(source: random.Random, array: np.ndarray) -> np.ndarray:
    kind = source.randrange(7)
    flat = array.ravel().copy()
    if kind == 0 and flat.size:
        limits = [0, 1, 2, 255, 128] if array.dtype.kind != "f" else [0.0, np.nan, np.inf, -np.inf, -1e308]
        flat[source.randrange(flat.size)] = source.choice(limits)
        return flat.reshape(array.shape)
    if kind == 1:
        return flat[: source.randrange(flat.size + 1)]
    if kind == 2:
        return np.concatenate([flat, flat[: source.randrange(flat.size + 1)]])
    if kind == 3:
        with np.errstate(invalid="ignore"):
            return array.astype(source.choice(["<u1", "<u2", "<u8", "<i8", "<f8"]), casting="unsafe")
    if kind == 4:
        return array.reshape((*array.shape, 1))
    if kind == 5 and flat.size:
        wide = flat.astype("<f8" if array.dtype.kind == "f" else "<u8", casting="unsafe")
        wide[source.randrange(flat.size)] = source.choice([2**31, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1])
        return wide
    return np.array(source.sample(flat.tolist(), flat.size), flat.dtype).reshape(array.shape)


def encoded(arrays: dict, metadata: dict) -> bytes:
    """Encode as `files.encode` does, also what it would never write."""
    import safetensors.numpy

    hole = "0" * 64
    head = {"format": files.FORMAT, "version": files.VERSION, "checksum": hole, **metadata}
    texts = {"discern": json.dumps(head, sort_keys=True)}
    tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    content = bytearray(safetensors.numpy.save(tensors, texts))
    return signed(content, content.index(hole.encode()))


def signed(content: bytearray, start: int) -> bytes:
    digest = _native.checksum(np.frombuffer(content, np.uint8), start, start + 64)
    content = bytearray(content)
    content[start : start + 64] = digest.encode()
    return bytes(content)


def change_header(source: random.Random, content: bytes) -> bytes:
    """Rewrite what the container says of names, types, shapes and places, the data being as they are."""
    length = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    names = [name for name in header if name != "__metadata__"]
    name = source.choice(names)
    kind = source.randrange(6)
    if kind == 0:
        header[name]["dtype"] = source.choice(["U8", "U16", "U32", "U64", "I64", "F64", "F32", "BOOL", "I8", "?"])
    elif kind == 1:
        header[name]["shape"] = source.choice([[], [0], [2**63], [2**32, 2**32], [-1], [1, 1, 1], [3, 0, 2**60]])
    elif kind == 2:
        place = source.choice([0, 1, 7, len(data), len(data) + 1, 2**40, 2**63, -1])
        header[name]["data_offsets"][source.randrange(2)] = place
    elif kind == 3:
        other = source.choice(names)
        header[name], header[other] = header[other], header[name]
    elif kind == 4:
        header[source.choice(["x", "0.terms.bytes", "0.weights", "decider.weights"])] = header.pop(name)
    else:
        header[name] = change_json(source, header[name])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    said = source.choice([0, 1, 2**40, 2**64 - 1]) if source.random() < 0.05 else len(text)
    return said.to_bytes(8, "little") + text + data


def damaged(source: random.Random, whole: bytes, arrays: dict, metadata: dict) -> tuple[bytes, bool]:
    """A damaged file, and whether its checksum was made to fit."""
    kind = source.randrange(7)
    content = bytearray(whole)
    digest = json.loads(_native.layout(np.frombuffer(whole, np.uint8))[0]["discern"])["checksum"]
    start = content.index(digest.encode())
    if kind == 0:
        return bytes(content[: source.randrange(len(content))]), False
    if kind in (1, 2):
        for _ in range(source.randrange(1, 4)):
            content[source.randrange(len(content))] = source.randrange(256)
        return (bytes(content), False) if kind == 1 else (signed(content, start), True)
    if kind == 3:
        place, length = source.randrange(len(content)), source.randrange(20)
        piece = bytes(source.randrange(256) for _ in range(source.randrange(20)))
        return bytes(content[:place] + piece + content[place + length :]), False
    if kind == 4:
        for _ in range(source.randrange(1, 3)):
            name = source.choice(sorted(arrays))
            arrays = {**arrays, name: change_array(source, arrays[name])}
        return encoded(arrays, metadata), True
    if kind == 5:
        content = bytearray(change_header(source, whole))
        return signed(content, content.index(digest.encode())), True
    changed = change_json(source, metadata)
    for _ in range(source.randrange(2)):
        changed = change_json(source, changed)
    return encoded(arrays, changed if isinstance(changed, dict) else {}), True


def asked_of(model: Classifier) -> list[list[Any]]:
    """Return rows to ask a model for: plain texts if it takes them, and rows with all its columns."""
    rows = [{feature.name: SPOKEN[feature.role][place] for feature in model.features} for place in range(3)]
    only_text = [feature.role for feature in model.features] == ["text"]
    return [rows, rows * 10] + ([ASKED, ASKED * 10] if only_text else [])


def use(path: Path) -> Classifier:
    model = Classifier.load(path)
    may_say = {*model.labels, *([model.decision.unsure_label] if model.decision else [])}
    for asked in asked_of(model):
        probabilities = model.predict_proba(asked)
        assert probabilities.shape == (len(asked), len(model.labels))
        assert np.isfinite(probabilities).all()
        assert np.allclose(probabilities.sum(axis=1), 1)
        assert set(model.predict(asked).tolist()) <= may_say
        raw = model.predict_proba(asked, raw=True)
        assert np.isfinite(raw).all()
        for row in asked if len(asked) <= 5 else ():
            evidence = model.explain(row)
            assert evidence.label in may_say
            assert np.isfinite(evidence.log_odds)
            assert str(evidence)
    only_text = [feature.role for feature in model.features] == ["text"]
    for text in ASKED if only_text else ():
        assert model.predict_one(text) in may_say
    model.info()
    model.weights(model.labels[0])
    files.encode(*model.fitted.content(slim=model.fitted.is_slim))  # what was loaded can be saved
    return model


def answers(model: Classifier) -> list[np.ndarray]:
    return [model.predict_proba(asked) for asked in asked_of(model)]


def use_neighbors(path: Path) -> KNeighborsClassifier:
    model = KNeighborsClassifier.load(path)
    files.encode(*model._content())  # what was loaded can be saved
    if model.n_neighbors_ > model.n_samples_fit_:  # rows may yet come, and until then it says so
        with pytest.raises(ValueError, match="Expected n_neighbors <= n_samples_fit"):
            neighbor_answers(model)
        return model
    [shares] = neighbor_answers(model)
    assert shares.shape == (3, len(model.classes_))
    assert np.isfinite(shares).all()
    assert np.allclose(shares.sum(axis=1), 1)
    assert set(model.predict(questions(model)).tolist()) <= set(model.classes_.tolist())
    return model


def questions(model: KNeighborsClassifier) -> Any:
    """Return rows of zeros and ones; a model of sparse rows may say that it has very many columns."""
    places = [0, model.n_features_in_ - 1]
    rows = scipy.sparse.csr_array((np.ones(2), ([1, 2], places)), shape=(3, model.n_features_in_))
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return pandas.DataFrame(rows.toarray(), columns=names)
    return rows if model.effective_metric_ == "cosine" else rows.toarray()


def neighbor_answers(model: KNeighborsClassifier) -> list[np.ndarray]:
    return [model.predict_proba(questions(model))]


def limit_memory(largest: int) -> None:
    """Allow what is in use, twice the largest file and a little more."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + 2 * largest + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


@dataclass(frozen=True)
class Source:
    """A good file, what is in it, and how such a file is loaded, used and asked."""

    arrays: dict[str, np.ndarray]
    metadata: dict[str, Any]
    whole: bytes
    use: Callable[[Path], Any]
    answers: Callable[[Any], list[np.ndarray]]

    @classmethod
    def of(cls, content: tuple[dict, dict], *ways: Callable[..., Any]) -> Self:
        arrays = {name: files.narrow(array) for name, array in content[0].items()}
        return cls(arrays, content[1], bytes(files.encode(arrays, content[1])[0]), *ways)


def every_source() -> list[Source]:
    whole_and_slim = [model.fitted.content(slim) for model in sources() for slim in (False, True)]
    classifiers = [Source.of(content, use, answers) for content in whole_and_slim]
    return classifiers + [Source.of(model._content(), use_neighbors, neighbor_answers) for model in neighbors()]


def main(folder: Path, seed: int, count: int) -> None:
    warnings.simplefilter("error")
    chosen_from, models = every_source(), {}
    path = folder / f"damaged{seed}.discern"
    for one in chosen_from:  # what is imported late is imported before memory gets scarce
        path.write_bytes(one.whole)
        models[one.whole] = one.use(path)
        path.unlink()
    limit_memory(max(len(one.whole) for one in chosen_from))
    refused = used = 0
    for number in range(count):
        source = random.Random(seed * 1_000_003 + number)
        one = source.choice(chosen_from)
        content, fits = damaged(source, one.whole, one.arrays, one.metadata)
        path.write_bytes(content)
        try:
            loaded = one.use(path)
        except ModelFileError:
            refused += 1
        except BaseException:
            told = [one.metadata.get(name) for name in ("kind", "metric", "model", "slim")]
            print(f"seed {seed}, number {number}, {told}, checksum fits: {fits}", file=sys.stderr)
            raise
        else:
            used += 1
            if not fits:
                expected = one.answers(models[one.whole])
                assert all(map(np.array_equal, one.answers(loaded), expected)), (seed, number)
        path.unlink()
    print(refused, used)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
