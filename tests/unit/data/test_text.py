"""Which terms a text has: against Python's own regular expressions and against scikit-learn."""

import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from discern.data.text import STEMMED, TextSettings, language_of, stop_words

SKLEARN = TextSettings(tokenizer="sklearn")
WORDS = TextSettings()

any_text = st.text(st.characters(exclude_categories=()), max_size=60)
letters = st.text(
    st.sampled_from("abAB_19 .,-'\té éÉßİıΣσςΑα\u0301\u0345\u00ad\u2028\ud800\udc00·ǅ你好ไทนम्ｆ²"),
    max_size=60,
)
texts = st.one_of(any_text, letters)


def word_ngrams(tokens: list[str], ngrams: tuple[int, int]) -> list[str]:
    """Join tokens to n-grams, for tokens that come from Python."""
    terms: list[str] = []
    for length in range(ngrams[0], ngrams[1] + 1):
        terms += [" ".join(tokens[start : start + length]) for start in range(len(tokens) - length + 1)]
    return terms


def sklearn_words(text: str) -> list[str]:
    return re.findall(r"(?u)\b\w\w+\b", text.lower())


@given(texts)
def test_words_are_those_of_scikit_learn(text: str) -> None:
    assert SKLEARN.terms(text) == sklearn_words(text)


@given(texts)
def test_words_without_lowering(text: str) -> None:
    found = TextSettings(tokenizer="sklearn", lowercase=False).terms(text)
    assert found == re.findall(r"(?u)\b\w\w+\b", text)


@given(texts, st.integers(1, 5))
def test_shortest_words(text: str, shortest: int) -> None:
    found = TextSettings(tokenizer="sklearn", min_word_length=shortest).terms(text)
    assert found == [word for word in re.findall(r"\w+", text.lower()) if len(word) >= shortest]


def test_every_assigned_character_in_context() -> None:
    codes = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) != "Cn"]
    for start in range(0, len(codes), 4000):
        characters = map(chr, codes[start : start + 4000])
        text = " ".join(f"a{c}b {c} x{c} {c}{c} {c}y" for c in characters)
        assert SKLEARN.terms(text) == sklearn_words(text)


def test_every_character_next_to_a_sigma() -> None:
    # Whether Σ becomes σ or ς depends on letters before and behind it, past what has no case.
    for start in range(0, sys.maxunicode + 1, 8000):
        characters = [chr(code) for code in range(start, min(start + 8000, sys.maxunicode + 1))]
        for shape in ("aΣ{}", "a{}Σ", "{}Σ", "aΣ{}b", "a{}Σb"):
            text = " | ".join(shape.format(c) for c in characters)
            assert SKLEARN.terms(text) == sklearn_words(text), shape


@given(st.text(st.sampled_from("ΣσςΑα aB'’.:·\u0301\u00ad\u180e1_-\ud800İ"), max_size=30))
def test_sigmas(text: str) -> None:
    assert SKLEARN.terms(text) == sklearn_words(text)
    characters = TextSettings(analyzer="char", tokenizer="sklearn")
    assert "".join(characters.terms(text)) == re.sub(r"\s\s+", " ", text.lower())


@pytest.mark.parametrize(
    "text",
    ["ΟΔΟΣ", "ΟΔΟΣ ΟΔΟΣ.", "ΣΑΣ Σ ΣΣ", "ΟΔΟΣ\u0301", "ΟΔΟΣ'Α", "Σ" * 100_000, "ΑΣ" + " " * 70_000 + "ΑΣ"],
)
def test_greek_words(text: str) -> None:
    assert SKLEARN.terms(text) == sklearn_words(text)


@pytest.mark.parametrize("filler", ["x", "é", "你", "Σ", "İ", "\ud800"])
@pytest.mark.parametrize("length", [63, 64, 65, 65_535, 65_536, 65_537, 140_000])
def test_long_texts_are_cut_between_words_only(filler: str, length: int) -> None:
    text = filler * length + " end " + ("Wörter " * 20_000) + filler * length
    assert SKLEARN.terms(text) == sklearn_words(text)


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("ngrams", [(1, 1), (1, 3), (2, 2), (3, 5)])
@pytest.mark.parametrize("analyzer", ["char", "char_wb", "word"])
@given(text=texts)
def test_ngrams_are_those_of_scikit_learn(analyzer: str, ngrams: tuple, lowercase: bool, text: str) -> None:
    expected = CountVectorizer(analyzer=analyzer, ngram_range=ngrams, lowercase=lowercase).build_analyzer()(text)
    found = TextSettings(analyzer=analyzer, ngrams=ngrams, lowercase=lowercase, tokenizer="sklearn").terms(text)
    assert found == expected


def test_every_white_space_character() -> None:
    spaces = "".join(chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace())
    text = "".join(f"a{space}b{space}{space}c" for space in spaces)
    for analyzer in ("char", "char_wb"):
        expected = CountVectorizer(analyzer=analyzer, ngram_range=(1, 3)).build_analyzer()(text)
        assert TextSettings(analyzer=analyzer, ngrams=(1, 3), tokenizer="sklearn").terms(text) == expected


@given(st.text(st.characters(max_codepoint=127), max_size=200))
def test_both_kinds_of_words_are_the_same_on_ascii(text: str) -> None:
    assert WORDS.terms(text) == SKLEARN.terms(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Cafe\u0301 CAFÉ", ["café", "café"]),  # composed and decomposed are one word
        ("naïve Straße", ["naïve", "straße"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("我们喜欢iPhone手机", ["我们", "喜欢", "iphone", "手机"]),
        ("ภาษาไทย", ["ภาษา", "ไทย"]),
        ("Don't a_b X2, go", ["don", "a_b", "x2", "go"]),
        ("\u2764\ufe0f ok \ud800", ["ok"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("", []),
    ],
)
def test_words_in_many_scripts(text: str, words: list[str]) -> None:
    assert WORDS.terms(text) == words


@given(texts)
def test_composed_text_has_the_same_words(text: str) -> None:
    assert WORDS.terms(unicodedata.normalize("NFC", text)) == WORDS.terms(text)


@given(st.lists(st.sampled_from(["the", "cat", "sat", "on", "mat", "née"]), max_size=12))
def test_stop_words_are_left_out_before_ngrams(words: list[str]) -> None:
    settings = TextSettings(ngrams=(1, 3), stop_words=("the", "on"))
    kept = [word for word in words if word not in ("the", "on")]
    assert settings.terms(" ".join(words)) == word_ngrams(kept, (1, 3))


def test_stop_words_are_compared_in_lower_case_and_before_stems() -> None:
    assert TextSettings(stop_words=("the",)).terms("The THE cat") == ["cat"]
    assert TextSettings(stop_words=("walking",), stem="english").terms("walking walks") == ["walk"]
    assert TextSettings(stop_words=("walk",), stem="english").terms("walking walks") == ["walk", "walk"]


@pytest.mark.parametrize(
    ("language", "text", "stems"),
    [
        ("english", "walking walks ponies", ["walk", "walk", "poni"]),
        ("german", "Häuser laufen", ["haus", "lauf"]),
        ("russian", "книги книгами", ["книг", "книг"]),
    ],
)
def test_stems(language: str, text: str, stems: list[str]) -> None:
    assert TextSettings(stem=language).terms(text) == stems


def test_stems_go_into_ngrams() -> None:
    assert TextSettings(stem="english", ngrams=(2, 2)).terms("Walking dogs") == ["walk dog"]


def test_a_long_word_is_not_stemmed() -> None:
    assert TextSettings(stem="english").terms("x" * 200 + "ing") == ["x" * 200 + "ing"]


def test_pattern() -> None:
    assert TextSettings(analyzer="pattern", pattern=r"\d+").terms("a1 b22") == ["1", "22"]
    assert TextSettings(analyzer="pattern", pattern=r"#(\w+)").terms("#Win now #Prize") == ["win", "prize"]
    assert TextSettings(analyzer="pattern", pattern=r"\S+", ngrams=(1, 2)).terms("a b c") == [
        "a",
        "b",
        "a b",
        "c",
        "b c",
    ]
    settings = TextSettings(analyzer="pattern", pattern=r"\S+", stop_words=("b",), stem="english")
    assert settings.terms("walking b dogs") == ["walk", "dog"]


@given(st.lists(st.sampled_from(["a b", "a", "b", "c d"]), max_size=6))
def test_tokens_with_spaces_are_joined_as_text(tokens: list[str]) -> None:
    settings = TextSettings(analyzer="pattern", pattern=r"<([^>]*)>", ngrams=(1, 2))
    found = settings.terms("".join(f"<{token}>" for token in tokens))
    assert sorted(found) == sorted(word_ngrams(tokens, (1, 2)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"analyzer": "words"}, "analyzer must be one of"),
        ({"tokenizer": "french"}, "tokenizer must be"),
        ({"ngrams": (0, 1)}, "n-gram lengths"),
        ({"ngrams": (2, 1)}, "n-gram lengths"),
        ({"stem": "klingon"}, "unknown stem"),
        ({"analyzer": "pattern", "pattern": "("}, "not a regular expression"),
        ({"analyzer": "pattern", "pattern": r"(a)(b)"}, "more than one group"),
        ({"analyzer": "pattern", "pattern": r"(?=a)b"}, "not a regular expression"),
    ],
)
def test_bad_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _ = TextSettings(**settings).native


def test_settings_as_plain_values() -> None:
    settings = TextSettings(ngrams=(1, 2), stop_words=("the", "\ud800"), stem="english", min_word_length=3)
    assert TextSettings.from_json(settings.to_json()) == settings


@pytest.mark.fuzz
@given(st.text(st.characters(exclude_categories=()), max_size=2000))
def test_search_for_texts_cut_otherwise(text: str) -> None:
    assert SKLEARN.terms(text) == sklearn_words(text)
    for analyzer in ("char", "char_wb"):
        expected = CountVectorizer(analyzer=analyzer, ngram_range=(1, 3)).build_analyzer()(text)
        assert TextSettings(analyzer=analyzer, ngrams=(1, 3), tokenizer="sklearn").terms(text) == expected
    for settings in (WORDS, TextSettings(ngrams=(1, 3)), TextSettings(stem="english")):
        for term in settings.terms(text):
            assert term
            term.encode()
    assert WORDS.terms(unicodedata.normalize("NFC", text)) == WORDS.terms(text)


@pytest.mark.parametrize("language", STEMMED)
def test_a_language_is_known_by_its_stop_words_and_can_be_stemmed(language: str) -> None:
    words = stop_words(language)
    assert language_of(dict.fromkeys(words, 1), len(words)) == language
    assert language_of(dict.fromkeys(words, 1), 1000 * len(words)) is None
    assert len(TextSettings(stem=language).terms(" ".join(words[:20]))) > 0
