"""Time that an attacker can cost: keys made to collide, and documents without end. CPU time, one thread."""

import itertools
import random
import time
from collections.abc import Callable

import numpy as np
import pytest

from discern import _native
from discern.classifier import Classifier
from discern.data.text import TextSettings

pytestmark = pytest.mark.alone
COUNT = 60_000
ROUNDS = 3
GRAIN = 0.003
"""Seconds below which a time says nothing."""


def spent(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def best_ratio(first: Callable[[], object], second: Callable[[], object]) -> float:
    """The CPU time of the first over that of the second, the best of several turns of each."""
    turns = [(spent(first), spent(second)) for _ in range(ROUNDS)]
    return min(turn[0] for turn in turns) / max(min(turn[1] for turn in turns), GRAIN)


def counted(texts: list[str]) -> None:
    counter = _native.Counter(TextSettings().native)
    counter.add(texts, np.zeros(len(texts), np.int32), 1, 1)
    counter.drain()


def documents(words: list[str]) -> list[str]:
    return [" ".join(words[start : start + 500]) for start in range(0, len(words), 500)]


def random_words(like: list[str]) -> list[str]:
    source = random.Random(1)
    return ["".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=len(word))) for word in like]


FLOODS = {
    "the same bytes in another order": ["".join(word) for word in itertools.islice(itertools.permutations("abcdefghij"), COUNT)],
    "the same first fifteen bytes": [f"abcdefghijklmno{number:06d}" for number in range(COUNT)],
    "the same last bytes": [f"{number:06d}abcdefghijklmno" for number in range(COUNT)],
    "one bit apart": [f"word{number:016b}" for number in range(COUNT)],
    "equal sums of bytes": ["".join("az" if number >> bit & 1 else "za" for bit in range(16)) for number in range(COUNT)],
    "sorted and reversed": [f"{COUNT - number:012d}" for number in range(COUNT)],
}  # fmt: skip


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_of_keys_costs_at_most_twice_as_much(name: str) -> None:
    flood, plain = documents(FLOODS[name]), documents(random_words(FLOODS[name]))
    assert best_ratio(lambda: counted(flood), lambda: counted(plain)) <= 2.0


def test_hashes_are_keyed_anew() -> None:
    """What collides in one count cannot be known from another: the order of the table differs, the result does not."""
    texts = documents(FLOODS["one bit apart"])[:3]
    counters = [_native.Counter(TextSettings().native) for _ in range(2)]
    for counter in counters:
        counter.add(texts, np.zeros(len(texts), np.int32), 1, 1)
    left, right = (counter.drain() for counter in counters)
    assert left.bytes.tobytes() == right.bytes.tobytes()


ODD = {
    "words": "some plain words of a text, ",
    "no spaces": "abcdefghijklmnopqrstuvwxyz",
    "spaces": "          ",
    "marks": "e\u0301\u0301\u0301",
    "chinese": "我们喜欢自然语言处理",
    "thai": "ภาษาไทยไม่มีช่องว่าง",
    "surrogates": "\ud800a",
    "punctuation": "!?.,;:",
}


@pytest.mark.parametrize("name", ODD)
def test_time_grows_with_the_bytes(name: str) -> None:
    """One document of a quarter megabyte takes at most 1.5 times as long a byte as sixteen of a sixteenth."""
    size = len(ODD[name].encode("utf-8", "surrogatepass"))
    short, long = ODD[name] * (15_625 // size), ODD[name] * (250_000 // size)
    assert best_ratio(lambda: counted([long]), lambda: counted([short] * 16)) <= 1.5


def megabyte_of(words: int) -> str:
    """A text of a million bytes that has so many different words."""
    source = random.Random(2)
    vocabulary = [f"word{number}" for number in range(words)]
    return " ".join(source.choices(vocabulary, k=130_000))[:999_999] + " "


@pytest.mark.soak
@pytest.mark.parametrize("documents", [1, 1000])
@pytest.mark.parametrize("words", [200, 20_000])
def test_a_gigabyte_costs_as_much_a_byte_as_a_megabyte(words: int, documents: int) -> None:
    text = megabyte_of(words)
    texts = [text * (1000 // documents)] * documents

    def gigabyte() -> None:
        counter = _native.Counter(TextSettings().native)
        for start in range(0, documents, 100):
            part = texts[start : start + 100]
            counter.add(part, np.zeros(len(part), np.int32), 1, 1)
        counter.drain()

    megabyte = min(spent(lambda: counted([text])) for _ in range(20))
    ratio = min(spent(gigabyte) for _ in range(2)) / (1000 * megabyte)
    print(f"{words} words, {documents} documents: time per byte of 1 GB over that of 1 MB: {ratio:.2f}")
    assert ratio <= 1.5


@pytest.mark.soak
def test_a_gigabyte_is_judged_as_quickly_a_byte_as_a_megabyte() -> None:
    text = megabyte_of(20_000)
    model = Classifier(text="text", smoothing=1.0, threads=1).fit(
        [{"label": "ham", "text": text[:500_000]}, {"label": "spam", "text": text[500_000:]}]
    )
    long = text * 1000
    assert model.predict([long]).tolist() == model.predict([text]).tolist()
    megabyte = min(spent(lambda: model.predict_proba([text])) for _ in range(20))
    ratio = spent(lambda: model.predict_proba([long])) / (1000 * megabyte)
    print(f"judged: time per byte of 1 GB over that of 1 MB: {ratio:.2f}")
    assert ratio <= 1.5
