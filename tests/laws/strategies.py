"""Rows that hypothesis draws: few words and labels, so that they meet again."""

from hypothesis import strategies as st

WORDS = [
    "win",
    "prize",
    "lunch",
    "noon",
    "née",
    "你好",
    "नमस्ते",
    "a_b",
    "x2",
    "extraordinarily-long",
    "ΟΔΟΣ",
    "I",
    "…",
]
LABELS = ["spam", "ham", "später", "\ud800", "0" * 64]

texts = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join),
    st.text(max_size=20),
)
labels = st.sampled_from(LABELS)
row = st.fixed_dictionaries({"label": labels, "text": texts})
rows = st.lists(row, max_size=12)
some_rows = st.lists(row, min_size=1, max_size=12)

text_settings = st.sampled_from(
    [
        {},
        {"ngrams": (1, 2)},
        {"ngrams": (2, 3), "stop_words": ["win"]},
        {"stem": "english", "stop_words": ["noon"]},
        {"analyzer": "char", "ngrams": (1, 3)},
        {"analyzer": "char_wb", "ngrams": (2, 4)},
        {"tokenizer": "sklearn", "lowercase": False, "min_word_length": 1},
        {"analyzer": "pattern", "pattern": r"\w\S*", "ngrams": (1, 2)},
    ]
)
