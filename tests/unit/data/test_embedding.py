"""Embedders: what they return is checked, they are known again, and static ones equal model2vec."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discern.data.embedding.embedder import Embedder, name_of
from discern.data.embedding.identity import EmbedderIdentity
from discern.data.embedding.static import LARGEST, StaticEmbedding
from discern.data.strings import DataError
from tests.static_embeddings import vectors, write

LONG = "calling " * 900
"""Its vector is the mean of hundreds, which model2vec adds up with 32-bit numbers."""
TEXTS = [
    "win a free prize now",
    "lunch at noon tomorrow, please",
    "meetings",
    "",
    "zzz",
    LONG,
    *(f"{'win' if i % 3 else 'lunch'} {'project ' * (i % 7)}{i}" for i in range(100)),
]


def numbers_of(texts: list[str]) -> Any:
    return np.array([[len(text), text.count("a"), 1.0] for text in texts])


# --------------------------------------------------------------------------------------------------- functions


@pytest.mark.parametrize("form", ["function", "object", "list", "float16", "integers", "partial"])
def test_what_returns_numbers_for_texts_is_an_embedder(form: str) -> None:
    class Model:
        def encode(self, texts: list[str], **options: Any) -> Any:
            return numbers_of(texts)

    given: Any = {
        "function": numbers_of,
        "object": Model(),
        "list": lambda texts: numbers_of(texts).tolist(),
        "float16": lambda texts: numbers_of(texts).astype(np.float16),
        "integers": lambda texts: numbers_of(texts).astype(np.int16),
        "partial": partial(Model().encode, batch_size=3),
    }[form]
    found = Embedder.of(given)(["aba", "b"])
    assert found.dtype == np.float32
    assert found.tolist() == [[3, 2, 1], [1, 0, 1]]


def test_texts_come_in_batches_and_in_order() -> None:
    sizes = []

    def encode(texts: list[str]) -> Any:
        assert isinstance(texts, list)
        sizes.append(len(texts))
        return numbers_of(texts)

    embedder = Embedder(encode, batch=40)
    texts = ["a" * number for number in range(100)]
    assert embedder(texts)[:, 0].tolist() == list(range(100))
    assert sizes == [3, 40, 40, 20]  # the probes first
    assert embedder([]).shape == (0, 3)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda texts: numbers_of(texts)[:-1], r"one row of numbers for each text; for 3 texts .* shape \(2, 3\)"),
        (lambda texts: numbers_of(texts)[:, 0], r"shape \(3,\)"),
        (lambda texts: numbers_of(texts)[:, :0], "returned 0 numbers for each text; from 1 to 4096 can be used"),
        (lambda texts: [["a"] for _ in texts], "must return a 2-D array of numbers"),
        (lambda texts: [[1.0], [1.0, 2.0], [1.0]], "must return a 2-D array of numbers"),
        (lambda texts: None, "must return a 2-D array of numbers"),
        (
            lambda texts: np.full((len(texts), 2), np.nan),
            "apart: the embedder 'x' returned a number that is not finite",
        ),
        (lambda texts: np.full((len(texts), 2), 1e300), "not finite for 'The parcel with your order of 12 May arr…'"),
    ],
)
def test_bad_results_are_refused_in_a_sentence(returned: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Embedder(returned, name="x")(["a"])


def test_a_dimension_that_changes_is_refused() -> None:
    embedder = Embedder(lambda texts: np.ones((len(texts), 2 + ("odd" in texts))), name="x")
    with pytest.raises(DataError, match="'x' returned 3 numbers for each text, and 2 before"):
        embedder(["odd"])


def test_the_place_of_a_bad_vector_is_named() -> None:
    embedder = Embedder(lambda texts: [[np.inf if text == "bad" else 1.0] for text in texts], name="x", batch=2)
    with pytest.raises(DataError, match=r"^row 14 of x.csv: the embedder 'x' .* for 'bad'$"):
        embedder(["a", "b", "c", "bad"], lambda number: f"row {11 + number} of x.csv")


@pytest.mark.parametrize("given", [3, None, b"text", dict, ["a"]])
def test_what_cannot_embed_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="embed must be a function from a list of strings to an array"):
        Embedder.of(given)


def test_functions_have_names() -> None:
    class Model:
        def encode(self, texts: list[str]) -> Any: ...

    assert name_of(numbers_of).endswith("numbers_of")
    assert name_of(Model().encode).endswith("Model")
    assert name_of(partial(numbers_of)).endswith("numbers_of")
    assert Embedder(numbers_of, name="mine").name == "mine"


def test_one_call_at_a_time_unless_told_otherwise() -> None:
    def most_at_once(concurrent: bool) -> int:
        inside, most = set(), []
        both = threading.Barrier(2)

        def encode(texts: list[str]) -> Any:
            inside.add(threading.get_ident())
            if concurrent and texts == ["a"]:
                both.wait(10)
            most.append(len(inside))
            inside.discard(threading.get_ident())
            return numbers_of(texts)

        embedder = Embedder(encode, concurrent=concurrent)
        _ = embedder.identity
        threads = [threading.Thread(target=embedder, args=(["a"],)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return max(most)

    assert most_at_once(False) == 1
    assert most_at_once(True) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_does_not_wait_for_a_lock() -> None:
    embedder = Embedder(numbers_of)
    with embedder._lock:  # another thread has it while the process forks
        child = os.fork()
        if not child:
            os._exit(0 if embedder(["aa"])[0, 0] == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_embedders_are_pickled() -> None:
    again = pickle.loads(pickle.dumps(Embedder(numbers_of, batch=7)))
    assert (again.batch, again(["aba"]).tolist()) == (7, [[3, 2, 1]])


# ---------------------------------------------------------------------------------------------------- identity


def with_rounding(texts: list[str]) -> Any:
    return numbers_of(texts) * (1 + 1e-3 * np.random.RandomState(len(texts)).standard_normal((len(texts), 3)))


def test_embedders_are_known_again_by_their_vectors() -> None:
    wide = np.random.RandomState(0).standard_normal((3, 64))

    def of(weights: Any) -> EmbedderIdentity:
        return Embedder(lambda texts: numbers_of(texts) @ weights).identity

    mine = of(wide)
    assert mine.matches(of(wide.astype(np.float16)))
    assert mine.matches(Embedder(lambda texts: with_rounding(texts) @ wide).identity)
    assert not mine.matches(of(2 * wide))
    assert not mine.matches(of(-wide))
    assert not mine.matches(of(wide[:, ::-1]))
    assert not mine.matches(of(wide[:, :63]))
    assert EmbedderIdentity.from_json(mine.to_json()) == mine
    assert len(mine.checksum) == 32


@pytest.mark.parametrize("change", [{"sketch": [1.0]}, {"dimension": 0}, {"sketch": ["nan"] * 27}])
def test_a_damaged_identity_is_refused(change: dict[str, Any]) -> None:
    values = Embedder(numbers_of).identity.to_json()
    with pytest.raises(ValueError, match="the embedder is not described as it should be"):
        EmbedderIdentity.from_json({**values, **change})


# --------------------------------------------------------------------------------------------- static embeddings

CLOSE = {"rtol": 1e-6, "atol": 3e-7}
"""Rounding of 32-bit numbers: model2vec adds up in 32 bits."""


@pytest.mark.parametrize("kind", ["wordpiece", "wordlevel", "unigram"])
@pytest.mark.parametrize(
    "config", [{"normalize": True}, {}, {"normalize": True, "max_length": 3}, {"max_length": None}]
)
def test_static_embeddings_equal_model2vec(kind: str, config: Any, tmp_path: Path) -> None:
    model2vec = pytest.importorskip("model2vec")
    folder = write(tmp_path / "small", kind=kind, config=config)
    theirs = model2vec.StaticModel.from_pretrained(folder).encode(TEXTS)
    mine = StaticEmbedding.load(folder)
    found, long = mine.encode(TEXTS), TEXTS.index(LONG)
    np.testing.assert_allclose(np.delete(found, long, 0), np.delete(theirs, long, 0), **CLOSE)
    np.testing.assert_allclose(found[long], theirs[long], rtol=1800 * 2**-24)
    assert mine.encode(TEXTS).dtype == np.float32
    assert np.count_nonzero(theirs) > 100


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8"])
@pytest.mark.parametrize("parts", [("weights",), ("mapping",), ("weights", "mapping")])
def test_weights_mappings_and_types_equal_model2vec(dtype: str, parts: tuple[str, ...], tmp_path: Path) -> None:
    model2vec = pytest.importorskip("model2vec")
    random = np.random.RandomState(1)
    embeddings = (vectors() * 40).astype(dtype)
    more = {"weights": random.random_sample(len(embeddings)), "mapping": random.randint(0, 5, len(embeddings))}
    tensors = {"embeddings": embeddings[:5] if "mapping" in parts else embeddings, **{one: more[one] for one in parts}}
    folder = write(tmp_path / "small", tensors=tensors, config={"normalize": False})
    texts = [text for text in TEXTS if text != LONG]
    theirs = model2vec.StaticModel.from_pretrained(folder).encode(texts)
    close = {"rtol": 1e-3} if theirs.dtype == np.float16 else CLOSE
    np.testing.assert_allclose(StaticEmbedding.load(folder).encode(texts), theirs, **close)


def test_a_vector_does_not_depend_on_the_texts_beside_it(tmp_path: Path) -> None:
    embedding = StaticEmbedding.load(write(tmp_path / "small"))
    together = embedding.encode(TEXTS)
    assert together.tobytes() == np.concatenate([embedding.encode([text]) for text in TEXTS]).tobytes()
    assert not together[3:5].any()  # no known token


def test_a_folder_is_an_embedder_with_the_checksum_of_its_files(tmp_path: Path) -> None:
    first, second = write(tmp_path / "potion"), write(tmp_path / "again" / "potion")
    other = write(tmp_path / "other", seed=1)
    mine, same, another = (Embedder(path) for path in (str(first), second, other))
    assert mine.identity == same.identity
    assert mine.concurrent
    assert not mine.identity.matches(another.identity)
    assert mine.identity.described == "'potion' (8 numbers)"
    assert mine.identity.matches(Embedder(StaticEmbedding.load(first).encode).identity)
    assert mine.identity.matches(Embedder(lambda texts: mine(texts)).identity)  # known by its vectors
    (second / "config.json").write_text('{"normalize": true, "max_length": 511}')
    assert not mine.identity.matches(Embedder(second).identity)


def test_static_embeddings_are_pickled_by_folder(tmp_path: Path) -> None:
    folder = write(tmp_path / "small")
    content = pickle.dumps(Embedder(folder))
    assert len(content) < 1000
    assert pickle.loads(content)(TEXTS).tobytes() == Embedder(folder)(TEXTS).tobytes()
    write(folder, seed=1)
    program = f"import pickle; pickle.loads({content!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "is not the same in every process; copy the folder again" in done.stderr


def broken(folder: Path, fault: str) -> None:
    embeddings = vectors()
    count = len(embeddings)
    tensors = {
        "few": {"embeddings": embeddings[:-1]},
        "flat": {"embeddings": embeddings[0]},
        "empty": {"embeddings": embeddings[:, :0]},
        "booleans": {"embeddings": embeddings > 0},
        "nan": {"embeddings": np.full_like(embeddings, np.nan)},
        "names": {"vectors": embeddings},
        "weights": {"embeddings": embeddings, "weights": np.ones(count + 1)},
        "mapping": {"embeddings": embeddings, "mapping": np.zeros(count)},
        "beyond": {"embeddings": embeddings, "mapping": np.full(count, count)},
        "negative": {"embeddings": embeddings, "mapping": np.full(count, -1)},
    }
    write(folder, tensors=tensors.get(fault))
    changes = {
        "no config": lambda: (folder / "config.json").unlink(),
        "no tokenizer": lambda: (folder / "tokenizer.json").unlink(),
        "no vectors": lambda: (folder / "model.safetensors").unlink(),
        "bad config": lambda: (folder / "config.json").write_text("[1]"),
        "bad normalize": lambda: (folder / "config.json").write_text('{"normalize": "yes"}'),
        "bad length": lambda: (folder / "config.json").write_text('{"max_length": 0}'),
        "bad tokenizer": lambda: (folder / "tokenizer.json").write_text('{"model": {}}'),
        "bytes": lambda: (folder / "tokenizer.json").write_bytes(b"\xff\xfe"),
        "cut off": lambda: (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:-9]),
        "nothing": lambda: (folder / "model.safetensors").write_bytes(b""),
        "large": lambda: os.truncate(folder / "model.safetensors", LARGEST["model.safetensors"] + 1),
        "large config": lambda: os.truncate(folder / "config.json", LARGEST["config.json"] + 1),
        "folder": lambda: ((folder / "config.json").unlink(), (folder / "config.json").mkdir()),
    }
    changes.get(fault, lambda: None)()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("no config", "has no config.json; the folder of a static embedding has model.safetensors, tokenizer.json and"),
        ("no tokenizer", "has no tokenizer.json"),
        ("no vectors", "has no model.safetensors"),
        ("bad config", "config.json' is not the configuration of a static embedding"),
        ("bad normalize", "'normalize' must be true or false, not 'yes'"),
        ("bad length", "'max_length' must be a number of tokens above 0 or null, not 0"),
        ("bad tokenizer", "tokenizer.json' is not the tokenizer of a static embedding"),
        ("bytes", "tokenizer.json' is not the tokenizer of a static embedding"),
        ("cut off", "model.safetensors' is not a safetensors file, or it is damaged"),
        ("nothing", "model.safetensors' is not a safetensors file, or it is damaged"),
        ("large", r"model.safetensors' is larger than 8,589,934,592 bytes"),
        ("large config", r"config.json' is larger than 1,048,576 bytes"),
        ("folder", "cannot read .*config.json': Is a directory"),
        ("few", "is not a static embedding for its tokenizer: it has 20 vectors for 21 tokens"),
        ("flat", r"'embeddings' has shape \(8,\) and type float32, not rows of numbers"),
        ("empty", r"'embeddings' has shape \(21, 0\)"),
        ("booleans", "'embeddings' has shape .* and type bool"),
        ("nan", "it holds numbers that are not finite"),
        ("names", "has no tensor 'embeddings'; it is not a static embedding"),
        ("weights", r"'weights' has shape \(22,\) and type float64, not a number for each of 21 tokens"),
        ("mapping", "'mapping' has shape .* and type float64, not a row for each of 21 tokens"),
        ("beyond", "'mapping' points beyond the 21 vectors"),
        ("negative", "'mapping' points beyond the 21 vectors"),
    ],
)
def test_broken_folders_are_refused_in_a_sentence(fault: str, message: str, tmp_path: Path) -> None:
    broken(tmp_path / "small", fault)
    with pytest.raises(DataError, match=message):
        StaticEmbedding.load(tmp_path / "small")


def test_a_tokenizer_that_fails_is_named(tmp_path: Path) -> None:
    embedding = StaticEmbedding.load(write(tmp_path / "small", kind="no unknown"))
    assert embedding.encode(["win"]).any()
    for texts in (["zzz"], ["zzz"] * 100):
        with pytest.raises(DataError, match="the tokenizer of 'small' cannot read a text: "):
            embedding.encode(texts)


def test_without_the_extra_the_message_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(DataError, match=r"pip install 'discern\[embed\]'"):
        StaticEmbedding.load(tmp_path)


def test_no_folder() -> None:
    with pytest.raises(DataError, match="no such folder: 'nowhere'; pass the folder of a static embedding"):
        Embedder("nowhere")
