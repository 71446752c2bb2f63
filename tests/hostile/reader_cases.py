"""Files of every format with something odd about them: what they hold, and the rows or the error that they give."""

from __future__ import annotations

import io
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

Row = dict[str, Any]


class Case(NamedTuple):
    """The content of a file, and its texts, its rows, or parts of the message with which it is refused."""

    content: bytes
    expected: list[str] | list[Row] | tuple[str, ...]
    encoding: str | None = None


def rows(*pairs: tuple[Any, Any]) -> list[Row]:
    return [{"label": label, "text": text} for label, text in pairs]


def parquet(**columns: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


def arrow(**columns: Any) -> bytes:
    stream = io.BytesIO()
    feather.write_feather(pa.table(columns), stream, "uncompressed")
    return stream.getvalue()


def repeated(*names: str) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array(["a1"]) for _ in names], names=list(names)), stream)
    return stream.getvalue()


def bad_utf8() -> Any:
    return pa.Array.from_buffers(pa.string(), 1, [None, pa.array(["ab"]).buffers()[1], pa.py_buffer(b"\xff\xfe")])


GOOD = pa.array(["aa", "bb", "cc", "dd"])
THIRD_BAD = pa.Array.from_buffers(pa.string(), 4, [None, GOOD.buffers()[1], pa.py_buffer(b"aabb\xff\xfedd")])
MANY = parquet(label=["a"] * 1000, text=["b"] * 1000)
TWO = rows(("a", "b"), ("c", "d"))
AWKWARD = rows(
    ("a", "plain"),
    ("b", 'quotes "and" more ""'),
    ("c", "comma, tab\t semicolon;"),
    ("d", "two\nlines\nand\r\nmore"),
    ("e", "a lone \r return"),
    ("f", "nul \0 inside"),
    ("g", "separator \u2028 and \u2029 and \x85 and \x0b\x0c\x1c"),
    ("h", "你好 née 🎉 \ufeff"),
    ("i", ""),
    ("j", " spaces "),
    ("é", "\ufeff"),
)
"""Rows that come back from every format that holds tables."""
PARAGRAPH = "\u2028"
ENVELOPE = b"From a@example.org Thu Aug 22 12:36:23 2002\n"
MAIL = b"Subject: s\nContent-Type: text/plain; charset=utf-8\n\n"
SECOND = b'\n\n{"label": "a", "text": "b"}\n\n%s\n'
"""JSON lines, of which the second row is bad."""


def marked(text: str, encoding: str) -> bytes:
    """Return a text with a byte order mark."""
    return (text if encoding in ("utf-16", "utf-32", "utf-8-sig") else f"\ufeff{text}").encode(encoding)


CASES: dict[str, dict[str, Case]] = {
    "csv": {
        "empty": Case(b"", ("is empty",)),
        "header only": Case(b"text,n\n", []),
        "header without an end": Case(b"text,n", []),
        "header only, CRLF": Case(b"label,text\r\n", []),
        "header with line breaks in quotes": Case(
            b'label,"te\nxt, ""all"""\na,b\n', [{"label": "a", 'te\nxt, "all"': "b"}]
        ),
        "header twice": Case(b"text,text\na1,b1\n", ("'text' twice",)),
        "header twice, not side by side": Case(b"label,text,label\na,b,c\n", ("'label' twice",)),
        "header blank": Case(b"\nlabel,text\na,b\n", ("blank",)),
        "header not UTF-8": Case(b"la\xffbel,text\na,b\n", ("not UTF-8",)),
        "header that never ends": Case(b"x" * 3_000_000, ("does not end",)),
        "wrong column": Case(b"txt,n\na1,1\n", ("no column 'text'", "did you mean 'txt'")),
        "two rows": Case(b"label,text\na,b\nc,d\n", TWO),
        "no final line break": Case(b"label,text\na,b\nc,d", TWO),
        "CRLF": Case(b"label,text\r\na,b\r\nc,d\r\n", TWO),
        "CRLF and LF": Case(b"label,text\r\na,b\nc,d", TWO),
        "lone CR": Case(b"label,text\ra,b\rc,d\r", ("carriage return",)),
        "BOM": Case(b"\xef\xbb\xbflabel,text\na,b\nc,d\n", TWO),
        "BOM and quotes": Case(b'\xef\xbb\xbf"label","text"\r\n"a","b"\r\n"c","d"\r\n', TWO),
        "blank lines": Case(b"label,text\n\n\na,b\n\nc,d\n\n\n", TWO),
        "blank lines, CRLF": Case(b"label,text\r\n\r\na,b\r\n\r\nc,d", TWO),
        "blank lines of one column": Case(b"label\na\n\nb", [{"label": "a"}, {"label": ""}, {"label": "b"}]),
        "semicolons": Case(b"label;text\na;b\nc;d\n", TWO),
        "pipes": Case(b"label|text\na|b\nc|d\n", TWO),
        "tabs": Case(b"label\ttext\na\tb\nc\td\n", TWO),
        "some quotes": Case(b'label,text\n"a",b\nc,"d"', TWO),
        "empty last field": Case(b"label,text\na,", rows(("a", ""))),
        "line breaks in quotes": Case(b'text,n\n"a1\nb1",1\n"c1\r\nd1",2\n', ["a1\nb1", "c1\r\nd1"]),
        "quotes inside": Case(
            b'label,text\na,5" disk\nb,"x"y\nc,""\nd,""""\n', rows(("a", '5" disk'), ("b", "xy"), ("c", ""), ("d", '"'))
        ),
        "NUL": Case(b"text,n\na\0b,1\n", ["a\0b"]),
        "NUL in a label": Case(b"label,text\na,b\na\0,c\n", ("row 2 of", "NUL")),  # NumPy would drop it
        "U+2028": Case(f"text,n\na1{PARAGRAPH}b1,1\n".encode(), [f"a1{PARAGRAPH}b1"]),
        "form feed": Case("text,n\na1\x0c\x0b\x1c\x85b1,1\n".encode(), ["a1\x0c\x0b\x1c\x85b1"]),
        "row 1 short": Case(b"label,text\na\nb,c\n", ("row 1 of", "fields", "2 columns")),
        "row 2 short": Case(b"text,n\na1,1\nb1\n", ("row 2 of", "fields", "2 columns")),
        "row 2 long": Case(b"text,n\na1,1\nb1,2,3\n", ("row 2 of", "fields", "2 columns")),
        "row 2 long, row 3 short": Case(b"label,text\na,b\nc,d,e\nf\n", ("row 2 of", "fields", "2 columns")),
        "row 3 long": Case(b"label,text\n\na,b\n\nc,d\ne,f,g", ("row 3 of", "fields", "2 columns")),
        "row 2 short after quotes": Case(b'label,text\na,"b\nstill b"\nc', ("row 2 of", "fields", "2 columns")),
        "row 2 of commas": Case(b"label,text\na,b\n,,\n", ("row 2 of", "fields", "2 columns")),
        "open quote in row 1": Case(b'text,n\n"a1,1\nb1,2\n', ("row 1 of", "never closed")),
        "open quote in row 1, later field": Case(b'label,text\na,"b\nc,d\ne,f\n', ("row 1 of", "never closed")),
        "open quote in row 2": Case(b'label,text\na,b\nc,"d\n', ("row 2 of", "never closed")),
        "open quote in row 2, first field": Case(b'label,text\na,b\n"c,d\ne,f', ("row 2 of", "never closed")),
        "open quote in row 3": Case(b'label,text\n\na,b\nc,"d\n"\ne,"""\n', ("row 3 of", "never closed")),
        "open quote in the header": Case(b'"label,text\na,b\n', ("row 0 of", "never closed")),
        "invalid UTF-8": Case(b"text,n\na1,1\n\xff\xfe,2\n", ("row 2 of", "'text'", "not UTF-8")),
        "invalid UTF-8 at the end": Case(b"label,text\na,\xff\n", ("row 1 of", "'text'", "not UTF-8")),
        "invalid UTF-8 in a label": Case(b"label,text\na,b\n\xe9t\xe9,d\n", ("row 2 of", "'label'", "not UTF-8")),
        "Latin-1": Case(b"label,text\na,ne\nb,n\xe9\n", ("row 2 of", "'text'", "not UTF-8")),
        "lone surrogate": Case(b"text,n\n\xed\xa0\x80,1\n", ("row 1 of", "'text'", "not UTF-8")),
        "two halves of a character": Case(b"label,text\na,\xc3\nb,\xa9\n", ("row 1 of", "'text'", "not UTF-8")),
        "two halves in two fields": Case(b"label,text\n\xc3,\xa9\n", ("row 1 of", "'label'", "not UTF-8")),
        "beyond Unicode": Case(b"label,text\na,\xf4\x90\x80\x80\n", ("row 1 of", "'text'", "not UTF-8")),
        "overlong": Case(b"label,text\na,\xc0\x80\n", ("row 1 of", "'text'", "not UTF-8")),
        "UTF-16, marked": Case("label,text\na,é\n".encode("utf-16"), rows(("a", "é"))),
        "UTF-32, marked": Case("label,text\na,é\n".encode("utf-32"), rows(("a", "é"))),
        "UTF-16-LE, not given": Case("label,text\na,é\n".encode("utf-16-le"), ()),
        "UTF-16-BE, not given": Case("label,text\na,é\n".encode("utf-16-be"), ()),
        "Windows-1252, not in it": Case(b"label,text\na,b\nc,\x81d\n", ("row 2 of", "'text'", "CP1252"), "cp1252"),
        **{
            f"{encoding}, given": Case(f"label,text\na,{text}\n".encode(encoding), rows(("a", text)), encoding)
            for encoding, text in {
                "latin-1": "né",
                "cp1252": "né",
                "utf-16-le": "né",
                "utf-16-be": "né",
                "shift_jis": "東京",
                "koi8-r": "привет",
            }.items()
        },
    },
    "tsv": {
        "empty": Case(b"", ("is empty",)),
        "header only": Case(b"text\tn\n", []),
        "header twice": Case(b"text\ttext\na\tb\n", ("'text' twice",)),
        "header with commas": Case(b"label\ttext, all of it\na\tb, c\n", [{"label": "a", "text, all of it": "b, c"}]),
        "two rows": Case(b"label\ttext\na\tb\nc\td\n", TWO),
        "quotes": Case(b'"label"\t"text"\r\n"a"\tb\r\nc\t"d"', TWO),
        "BOM and blank lines": Case(b"\xef\xbb\xbflabel\ttext\na\tb\n\nc\td", TWO),
        "commas": Case(b"text\tn\na,b\t1\n", ["a,b"]),
        "row 1 short": Case(b"text\tn\na\n", ("row 1 of",)),
        "invalid UTF-8": Case(b"text\tn\n\xff\t1\n", ("row 1 of",)),
        "U+2028": Case(f"text\tn\na{PARAGRAPH}b\t1".encode(), [f"a{PARAGRAPH}b"]),
        "UTF-16, marked": Case("label\ttext\na\té\n".encode("utf-16"), rows(("a", "é"))),
        "UTF-32, marked": Case("label\ttext\na\té\n".encode("utf-32"), rows(("a", "é"))),
        "UTF-16-LE, given": Case("label\ttext\na\té\n".encode("utf-16-le"), rows(("a", "é")), "utf-16-le"),
        "UTF-16-LE, not given": Case("label\ttext\na\té\n".encode("utf-16-le"), ()),
        "UTF-16-BE, given": Case("label\ttext\na\té\n".encode("utf-16-be"), rows(("a", "é")), "utf-16-be"),
        "UTF-16-BE, not given": Case("label\ttext\na\té\n".encode("utf-16-be"), ()),
    },
    "jsonl": {
        "empty": Case(b"", []),
        "a line break": Case(b"\n", []),
        "BOM only": Case(b"\xef\xbb\xbf", []),
        "blank lines only": Case(b"\n \r\n\t\n", []),
        "two rows": Case(b'{"label": "a", "text": "b"}\n{"label": "c", "text": "d"}\n', TWO),
        "blank lines": Case(b'\n{"text": "a1"}\n\n  \n', ["a1"]),
        "no final line break": Case(b'{"text": "a1"}\n{"text": "b1"}', ["a1", "b1"]),
        "CRLF": Case(b'{"text": "a1"}\r\n{"text": "b1"}\r\n', ["a1", "b1"]),
        "BOM": Case(b'\xef\xbb\xbf{"text": "a1"}\n', ["a1"]),
        "BOM, CRLF, spaces, other order": Case(
            b'\xef\xbb\xbf{"label": "a", "text": "b"}\r\n\r\n  {"text": "d", "label": "c"}  \n\n', TWO
        ),
        "U+2028": Case(f'{{"text": "a{PARAGRAPH}b"}}\n'.encode(), [f"a{PARAGRAPH}b"]),
        "NUL": Case(b'{"text": "a\\u0000b"}\n', ["a\0b"]),
        "lone surrogate": Case(b'{"text": "a\\ud800b"}\n', ["a\ud800b"]),
        "pair of surrogates": Case(b'{"text": "\\ud83d\\ude00 noon"}\n', ["😀 noon"]),
        "key twice": Case(b'{"text": "a1", "text": "b1"}\n', ["b1"]),
        "label twice": Case(b'{"label": "a", "label": "b", "text": "c"}\n', rows(("b", "c"))),
        "missing values": Case(b'{"text": null}\n{"n": 1}\n', ["", ""]),
        "missing label": Case(b'{"label": "a", "text": "b"}\n\n{"text": "b"}\n', ("row 2 of", "'label'")),
        "infinite": Case(b'{"text": 1e999}\n', ["inf"]),
        "list": Case(b'{"text": "a1"}\n[1]\n', ("row 2 of", "JSON list")),
        "list of texts": Case(SECOND % b'["a", "b"]', ("row 2 of", "JSON list")),
        "text": Case(SECOND % b'"a"', ("row 2 of", "JSON str")),
        "null": Case(SECOND % b"null", ("row 2 of", "JSON NoneType")),
        "cut off": Case(b'{"text": "a1"}\n{"text": "b', ("row 2 of", "not JSON")),
        "cut off with a line break": Case(SECOND % b'{"label": "a", "text": ', ("row 2 of", "not JSON")),
        "nonsense": Case(SECOND % b"nonsense", ("row 2 of", "not JSON")),
        "two on a line": Case(SECOND % b'{"label": "a"} {"label": "b"}', ("row 2 of", "not JSON")),
        "single quotes": Case(SECOND % b"{'label': 'a'}", ("row 2 of", "not JSON")),
        "NUL before a row": Case(SECOND % b'\x00{"label": "a"}', ("row 2 of", "not JSON")),
        "very long number": Case(SECOND % b'{"label": %s}' % (b"1" * 5000), ("row 2 of", "not JSON")),
        "very deep": Case(b'{"text": "a1"}\n{"text": ' + b"[" * 100_000 + b"\n", ("row 2 of", "not JSON")),
        "very deep list": Case(SECOND % (b"[" * 100_000), ("row 2 of", "not JSON")),
        "very deep label": Case(SECOND % (b'{"label": ' + b"[" * 100_000), ("row 2 of", "not JSON")),
        "invalid UTF-8": Case(b'{"text": "\xff"}\n', ("row 1 of", "not UTF-8")),
        "invalid UTF-8 in a label": Case(SECOND % b'{"label": "\xff"}', ("row 2 of", "not UTF-8")),
        "bytes of a surrogate": Case(SECOND % b'{"label": "\xed\xa0\x80"}', ("row 2 of", "not UTF-8")),
        "UTF-16, marked": Case('{"label": "a", "text": "é"}\n'.encode("utf-16"), rows(("a", "é"))),
        "UTF-32, marked": Case('{"label": "a", "text": "é"}\n'.encode("utf-32"), rows(("a", "é"))),
        "UTF-16-LE, given": Case('{"label": "a", "text": "é"}\n'.encode("utf-16-le"), rows(("a", "é")), "utf-16-le"),
        "UTF-16-LE, not given": Case('{"label": "a", "text": "é"}\n'.encode("utf-16-le"), ()),
        "UTF-16-BE, given": Case('{"label": "a", "text": "é"}\n'.encode("utf-16-be"), rows(("a", "é")), "utf-16-be"),
        "UTF-16-BE, not given": Case('{"label": "a", "text": "é"}\n'.encode("utf-16-be"), ()),
    },
    "parquet": {
        "empty": Case(b"", ("Parquet",)),
        "magic only": Case(b"PAR1", ("Parquet",)),
        "no rows": Case(parquet(text=pa.array([], pa.string())), []),
        "CSV": Case(b"label,text\na,b\n", ("Parquet",)),
        "cut off": Case(parquet(text=["a1"])[:-10], ("Parquet",)),
        "cut off by a byte": Case(MANY[:-1], ("Parquet",)),
        "half": Case(MANY[: len(MANY) // 2], ("Parquet",)),
        "without its start": Case(MANY[4:], ()),
        "column twice": Case(repeated("text", "text"), ("'text' twice",)),
        "label twice": Case(repeated("label", "text", "label"), ("'label' twice",)),
        "awkward texts": Case(parquet(text=["a\0b", f"a{PARAGRAPH}\r\nb", None]), ["a\0b", f"a{PARAGRAPH}\r\nb", ""]),
        "numbers": Case(parquet(text=[1, 2]), ["1", "2"]),
        "dictionary": Case(parquet(text=pa.array(["a1", "b1", "a1"]).dictionary_encode()), ["a1", "b1", "a1"]),
        "lists": Case(parquet(text=[[1], [2]]), ("'text'", "cannot be read as text")),
        "lists of texts": Case(parquet(text=[["a"], ["b"]]), ("'text'", "cannot be read as text")),
        "structs": Case(parquet(text=pa.array([{"x": 1}, None])), ("'text'", "cannot be read as text")),
        "lists of bytes": Case(parquet(text=pa.array([[b"a"], None])), ("'text'", "cannot be read as text")),
        "invalid UTF-8": Case(parquet(label=GOOD, text=THIRD_BAD), ("row 3 of", "'text'", "not UTF-8")),
        "invalid UTF-8 in a label": Case(parquet(label=THIRD_BAD, text=GOOD), ("row 3 of", "'label'", "not UTF-8")),
    },
    "arrow": {
        "empty": Case(b"", ("as Arrow",)),
        "magic only": Case(b"ARROW1", ("as Arrow",)),
        "magic and noise": Case(b"ARROW1\0\0" + b"\xff" * 100, ("as Arrow",)),
        "a word": Case(b"nothing", ("as Arrow",)),
        "Feather 1": Case(b"FEA1", ("as Arrow",)),
        "noise": Case(b"\xff" * 64, ("as Arrow",)),
        "CSV": Case(b"text,n\na,1\n", ("as Arrow",)),
        "cut off": Case(arrow(text=["a1"])[:-20], ("as Arrow",)),
        "no rows": Case(arrow(text=pa.array([], pa.string())), []),
        "awkward texts": Case(arrow(text=["a\0b", f"{PARAGRAPH}\r\nb", None]), ["a\0b", f"{PARAGRAPH}\r\nb", ""]),
        "invalid UTF-8": Case(arrow(text=bad_utf8()), ("UTF",)),
    },
    "txt": {
        "empty": Case(b"", []),
        "one": Case(b"one", ["one"]),
        "final line break": Case(b"one\n", ["one"]),
        "no final line break": Case(b"one\ntwo", ["one", "two"]),
        "CRLF": Case(b"one\r\ntwo\r\n", ["one", "two"]),
        "CRLF and blank lines": Case(b"a1\r\n\r\nb1", ["a1", "", "b1"]),
        "a line break": Case(b"\n", [""]),
        "blank lines": Case(b"\n\nthree\n", ["", "", "three"]),
        "BOM": Case(b"\xef\xbb\xbfone\n", ["one"]),
        "lone CR": Case(b"a\rb\n", ["a\rb"]),
        "CR CR LF": Case(b"a\r\r\nb\r", ["a\r", "b\r"]),
        "NUL": Case(b"nul \0 in\n\0\n", ["nul \0 in", "\0"]),
        "U+2028 and the like": Case(
            f"a{PARAGRAPH}b\u2029c\x85d\x0b\x0c\x1ce\n".encode(), [f"a{PARAGRAPH}b\u2029c\x85d\x0b\x0c\x1ce"]
        ),
        "other scripts": Case("né\n你好\n🎉".encode(), ["né", "你好", "🎉"]),
        "invalid UTF-8": Case(b"a1\n\xff\n", ("row 2 of", "'text'", "not UTF-8", "--encoding")),
        "Latin-1": Case(b"one\ntwo\nn\xe9\nfour\n", ("row 3 of", "'text'", "not UTF-8", "--encoding")),
        "lone surrogate": Case(b"\xed\xa0\x80\n", ("row 1 of", "not UTF-8")),
        "two halves of a character": Case(b"a\xc3\n\xa9b\n", ("row 1 of", "not UTF-8")),
        "UTF-16 with half a character": Case("né".encode("utf-16") + b"x", ("UTF-16",)),
        **{
            f"{encoding}, marked": Case(marked("né\r\n🎉\n", encoding), ["né", "🎉"])
            for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig")
        },
    },
    "svm": {
        "rows": Case(
            b"# made by hand\n+1 1:0.5 3:-2 # a comment\n\n-1 qid:4 2:1e3\n1\r\n",
            [
                {"label": "1", "1": 0.5, "2": 0.0, "3": -2.0},
                {"label": "-1", "1": 0.0, "2": 1000.0, "3": 0.0},
                {"label": "1", "1": 0.0, "2": 0.0, "3": 0.0},
            ],
        ),
        "empty": Case(b"", []),
        "comments only": Case(b"# nothing\n\n", []),
        "no final line break": Case(
            b"1 1:1\n-1 2:1", [{"label": "1", "1": 1, "2": 0}, {"label": "-1", "1": 0, "2": 1}]
        ),
        "CRLF": Case(b"1 1:1\r\n-1 2:1\r\n", [{"label": "1", "1": 1, "2": 0}, {"label": "-1", "1": 0, "2": 1}]),
        "BOM": Case(b"\xef\xbb\xbf1 1:1\n-1 1:2\n", [{"label": "1", "1": 1}, {"label": "-1", "1": 2}]),
        "invalid UTF-8 in a label": Case(b"\xff 1:1\n1 1:2\n", [{"label": "\ufffd", "1": 1}, {"label": "1", "1": 2}]),
        "infinite": Case(b"1 1:1\n-1 1:1e999\n", [{"label": "1", "1": 1}, {"label": "-1", "1": float("inf")}]),
        "no pair": Case(b"1 1:1\n1 x\n", ("row 2 of", "not a pair")),
        "no number": Case(b"1 1:1\n1 1:x\n", ("row 2 of", "column '1'")),
        "no index": Case(b"1 1:1\n1 x:1\n", ("row 2 of", "not a pair")),
        "a number alone": Case(b"1 1:1\n1 5\n", ("row 2 of", "not a pair")),
        "negative index": Case(b"1 1:1\n1 -3:1\n", ("row 2 of", "not a pair")),
        "huge index": Case(b"1 99999999999999999999:1\n", ("row 1 of", "not a pair")),
        "NUL": Case(b"1 1:1\0\n", ("row 1 of",)),
        "too many indices": Case(
            b"".join(b"1 %d:1\n" % row for row in range(1, 5000)), ("more than 4,096 indices", "load_svmlight_file")
        ),
    },
    "eml": {
        "empty": Case(b"", []),
        "no headers": Case(b"\nbody", ["body"]),
        "no body": Case(b"Subject: s\n", ["s"]),
        "CRLF": Case(b"Subject: s\r\n\r\nline\r\n", ["s\nline\r\n"]),
        "NUL": Case(MAIL + b"a\0b", ["s\na\0b"]),
        "U+2028": Case(MAIL + f"a{PARAGRAPH}b".encode(), [f"s\na{PARAGRAPH}b"]),
        "Windows-1252": Case(b"Subject: n\xe9\n\n\x81 body", ["né\n\x81 body"]),
        "invalid UTF-8": Case(MAIL + b"caf\xe9", ["s\ncaf\ufffd"]),
        "unknown charset": Case(MAIL.replace(b"utf-8", b"klingon") + b"caf\xe9", ["s\ncaf\xe9"]),
        "idna as charset": Case(MAIL.replace(b"utf-8", b"idna") + b"xn--a", ["s\nxn--a"]),
        "nothing but NUL": Case(b"\0" * 100, [""]),
    },
    "mbox": {
        "empty": Case(b"", []),
        "blank lines only": Case(b"\n\n", []),
        "a message without an envelope": Case(b"Subject: s\n\nbody\n", ("not an mbox",)),
        "CSV": Case(b"label,text\na,b\n", ("not an mbox",)),
        "an envelope": Case(ENVELOPE, [""]),
        "an envelope without its end": Case(ENVELOPE[:-1], [""]),
        "one mail": Case(ENVELOPE + MAIL + b"a1\n", ["s\na1\n"]),
        "From in a body": Case(ENVELOPE + MAIL + b"a1\n\nFrom here on\n", ["s\na1\n\nFrom here on\n"]),
        "two mails": Case(ENVELOPE + MAIL + b"a1\n\n" + ENVELOPE + MAIL + b"b1\n", ["s\na1\n", "s\nb1\n"]),
        "CRLF": Case((ENVELOPE + MAIL + b"a1\n").replace(b"\n", b"\r\n"), ["s\na1\r\n"]),
        "three mails": Case(
            b"\n" + ENVELOPE + b"Subject: one\n\nbody\n\nFrom here on it is\n\n>From quoted\n"
            b"\n" + ENVELOPE + b"Subject: two\r\n\r\nb\r\n\r\n" + ENVELOPE + b"Subject: three\n",
            ["one\nbody\n\nFrom here on it is\n\n>From quoted\n", "two\nb\r\n", "three"],
        ),
    },
}
"""By the suffix of the file, and by what is odd about it."""

BAD: dict[str, tuple[str, bytes, dict[int, Any], list[Any]]] = {
    "csv": (
        "rows.csv",
        b"label,text\na,one\nb\nc,three\nd,four,more,4\ne,f\xffve\nf,six\n",
        {1: "one", 3: "three", 6: "six"},
        ["one", "", "three", "four", "f\ufffdve", "six"],
    ),
    "csv, blank lines": ("rows.csv", b"label,text\n\nx\n\na,b\n\ny\n", {2: "b"}, ["", "b", ""]),
    "json lines": (
        "rows.jsonl",
        b'{"text": "a"}\n{"text": \n[1]\n{"text": "\xff"}\n{"text": "e"}\n',
        {1: "a", 5: "e"},
        ["a", None, None, "\ufffd", "e"],
    ),
    "lines": ("rows.txt", b"one\ntw\xff\nthree\n", {1: "one", 3: "three"}, ["one", "tw\ufffd", "three"]),
    **{
        f"svmlight, {line.decode()[:9]}": ("rows.svm", b"1 1:1\n%s\n-1 1:2\n" % line, {1: 1.0, 3: 2.0}, [1.0, 0.0, 2.0])
        for line in (b"1 x:1", b"1 5", b"1 7:x", b"1 -3:1", b"1 9" + b"9" * 30 + b":1")
    },
}
"""The name of a file, its content, the texts by row that are left if bad rows are skipped, and those that are kept."""

FOLDERS: dict[str, tuple[dict[str, bytes], list[Any] | str]] = {
    "empty": ({}, "without files"),
    "empty files": ({"a/1.txt": b"", "b/1.txt": b""}, rows(("a", ""), ("b", ""))),
    "labels": (
        {
            "spam/1.txt": b"free prize",
            "spam/deeper/2.txt": b"free\ncash",
            "ham/1": "café at noon".encode(),
            "ham/.hidden": b"\xff",
        },
        rows(("ham", "café at noon"), ("spam", "free prize"), ("spam", "free\ncash")),
    ),
    "without labels": ({"b.txt": b"two", "a.txt": b"one"}, [{"text": "one"}, {"text": "two"}]),
    "invalid UTF-8": ({"a/1.txt": b"\xff", "b/1.txt": b"x"}, "a/1.txt"),
    "files beside folders": ({"a/1.txt": b"x", "README": b"about"}, "beside its subfolders, such as 'README'"),
    "tables": ({"a.csv": b"text\na\n"}, "with tables"),
    "mails and others": ({"a/1.eml": b"Subject: s\n\n", "a/2.txt": b"x"}, "mails and other documents"),
    "mails and others in two folders": ({"a/1.eml": b"Subject: x\n\ny", "b/1.txt": b"y"}, "pass --format"),
    "NUL and U+2028": (
        {"a/1.txt": f"a\0{PARAGRAPH}b\r\n".encode(), "b/1.txt": b"x"},
        rows(("a", f"a\0{PARAGRAPH}b\r\n"), ("b", "x")),
    ),
    "a Maildir": (
        {f"{place}/1.{place}:2,S": f"Subject: {place}\n\nbody".encode() for place in ("new", "cur", "tmp")},
        [{"subject": "cur"}, {"subject": "new"}],
    ),
    "Maildirs": (
        {"a/cur/1": MAIL, "a/new/2": MAIL, "b/cur/.hidden": b"", "b/new/1": b"Subject: b\n\n"},
        [{"label": "a", "subject": "s"}, {"label": "a", "subject": "s"}, {"label": "b", "subject": "b"}],
    ),
}
"""The files of a folder, and some columns of its rows, or a part of the message with which it is refused."""
