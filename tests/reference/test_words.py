"""Matrices of terms as files, and stop words."""

import pytest
import scipy.io
import scipy.sparse
import sklearn.feature_extraction.text as reference_text

import discern
from discern.data.text import stop_words

# ------------------------------------------------------------------------------------- export and stop words


def test_the_matrix_can_be_written_and_read(tmp_path):
    texts = ["one fish two fish", "", "red fish"]
    matrix = discern.TermDocumentMatrix.of(texts)
    expected = reference_text.CountVectorizer().fit(texts)
    assert (matrix.to_scipy() != expected.transform(texts)).nnz == 0
    table = matrix.to_arrow()
    assert table.column_names == ["document", "term", "count"]
    assert table.to_pylist()[-1] == {"document": 2, "term": "red", "count": 1}
    matrix.write_matrix_market(tmp_path / "matrix.mtx")
    assert (scipy.io.mmread(tmp_path / "matrix.mtx").toarray() == matrix.to_scipy().toarray()).all()
    lines = (tmp_path / "matrix.mtx.terms").read_text("utf-8").splitlines()
    assert lines == expected.get_feature_names_out().tolist()
    with pytest.raises(ValueError, match="line break"):
        discern.TermDocumentMatrix.of(["a\nb"], discern.TextSettings(analyzer="char")).write_matrix_market(
            tmp_path / "x"
        )


SNOWBALL = [
    "arabic",
    "armenian",
    "basque",
    "catalan",
    "danish",
    "dutch",
    "english",
    "esperanto",
    "estonian",
    "finnish",
    "french",
    "german",
    "greek",
    "hindi",
    "hungarian",
    "indonesian",
    "irish",
    "italian",
    "lithuanian",
    "nepali",
    "norwegian",
    "portuguese",
    "romanian",
    "russian",
    "serbian",
    "spanish",
    "swedish",
    "tamil",
    "turkish",
]


@pytest.mark.parametrize("language", SNOWBALL)
def test_languages_with_a_stemmer_have_stop_words(language):
    words = stop_words(language)
    assert len(set(words)) == len(words) >= 30
    settings = discern.TextSettings(stem=language, stop_words=words, min_word_length=1)
    whole = [word for word in words if word == "".join(discern.TextSettings(min_word_length=1).terms(word))]
    assert len(whole) > len(words) // 2
    assert settings.terms(" ".join(whole)) == []


def test_languages_without_stop_words_are_refused():
    with pytest.raises(ValueError, match="no stop words for the language 'yiddish'"):
        stop_words("yiddish")
