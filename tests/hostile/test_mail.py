"""Mails that are nested, huge, cut off or malicious: columns in little time and memory, never an exception."""

import base64
import codecs
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discern.data import message as mail
from discern.data.message import COLUMNS, columns_of, decode, text_of_html


def found(content: bytes, seconds: float = 1.0) -> dict[str, str]:
    """The columns of a mail, found in time and fit to be written."""
    start = time.process_time()
    columns = columns_of(content)
    assert time.process_time() - start < seconds
    assert tuple(columns) == COLUMNS
    for value in columns.values():
        value.encode("utf-8")
    return columns


def nested(depth: int, kind: str = "multipart/mixed") -> bytes:
    opening = b"".join(b"Content-Type: %s; boundary=b%d\n\n--b%d\n" % (kind.encode(), n, n) for n in range(depth))
    return b"Subject: deep\n" + opening + b"Content-Type: text/plain\n\ninnermost\n"


def test_an_ordinary_mail() -> None:
    content = b"""From ann@example.org Thu Aug 22 12:36:23 2002
Received: from a.example.com (HELO x) by b.example.net with SMTP
Received: from [10.0.0.1] by
\ta.example.com
From: =?iso-8859-1?q?Ren=E9e?= <renee@example.org>
To: bob@example.org, eve@example.org
Cc: dan@example.org
Subject: =?utf-8?b?Q2Fmw6k=?= =?utf-8?q?_open?=
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="=_x y"

preamble
--=_x y
Content-Type: multipart/alternative; boundary=inner

--inner
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

caf=E9 at https://user@www.Example.com:80/menu =
today
--inner
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: base64

PHA+RnJlZSAmYW1wOyBlYXN5PC9wPjxhIGhyZWY9Imh0dHA6Ly9saW5rLmV4YW1wbGUub3JnL3giPm5vdzwvYT4=
--inner--
--=_x y
Content-Type: application/pdf; name="menu.pdf"
Content-Disposition: attachment; filename*=utf-8''men%C3%BC.pdf
Content-Transfer-Encoding: base64

AAAA
--=_x y--
epilogue
"""
    expected = {
        "subject": "Café open",
        "from": "Renée <renee@example.org>",
        "to": "bob@example.org, eve@example.org\ndan@example.org",
        "body": "café at https://user@www.Example.com:80/menu today\n",
        "html": "Free & easy\nnow",
        "attachments": "menü.pdf",
        "received": "a.example.com b.example.net\n[10.0.0.1] a.example.com",
        "links": "www.example.com\nlink.example.org",
        "route": "from a.example.com (HELO x) by b.example.net with SMTP\nfrom [10.0.0.1] by a.example.com",
    }
    assert found(content) == expected
    assert found(content.replace(b"\n", b"\r\n")) == {**expected, "body": expected["body"].replace("\n", "\r\n")}


def test_the_route_is_without_what_is_said_once() -> None:
    content = b"Received: from a (HELO b; c) by d with SMTP id X1-2; Thu, 22 Aug 2002 12:36:23\nReceived: by e id 9\n\n"
    assert found(content)["route"] == "from a (HELO b; c) by d with SMTP\nby e"


@pytest.mark.parametrize("depth", [20, 1_000, 20_000])
@pytest.mark.parametrize("kind", ["multipart/mixed", "multipart/digest"])
def test_nested_parts(depth: int, kind: str) -> None:
    assert found(nested(depth, kind))["subject"] == "deep"


def test_the_text_of_shallow_nests_is_found() -> None:
    assert "innermost" in found(nested(20))["body"]


def test_nested_messages() -> None:
    content = b"Content-Type: message/rfc822\n\n" * 5_000 + b"Subject: inner\n\nbody"
    assert found(content)["subject"] == ""


@pytest.mark.parametrize("parts", [40_000, 400_000])
def test_many_parts(parts: int) -> None:
    columns = found(b"Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * parts)
    assert columns["body"].count("x") <= mail.MAX_PARTS


@pytest.mark.parametrize("size", [32_000, 3_000_000])
@pytest.mark.parametrize("header", [b"To", b"From", b"Subject", b"Received", b"Content-Type", b"Content-Disposition"])
@pytest.mark.parametrize(
    "unit",
    [b"<a@b.c>, ", b"(", b'"', b";", b"a=b;", b"=?utf-8?q?x?= ", b"=?", b"\\", b"a*0*=x;", b'"\\";', b"from a ", b"\n ", b"\n"],
)  # fmt: skip
def test_long_headers(header: bytes, unit: bytes, size: int) -> None:
    found(header + b": " + unit * (size // len(unit)) + b"\n\nbody")


def test_many_headers() -> None:
    found(b"".join(b"X-%d: y\n" % number for number in range(300_000)) + b"\nbody")
    found(b"To: x\n" * 300_000 + b"\nbody")


@pytest.mark.parametrize(
    "unit",
    ["<", ">", "<!--", "-->", "<a ", "<a href=", "<!", "<![", "<?", "</", "</a", "&", "&#", "&amp", "<script>", "</script>", "<style ",
     "<1>", "&<1>", "<a b='", '<a b="', "<a/", "<a =", "<a><", "<![CDATA[", "]]>", "<a b=c ", "\0", "<p>", "İ"],
)  # fmt: skip
def test_pages_that_repeat_what_a_parser_dislikes(unit: str) -> None:
    page = unit * (2 * mail.MAX_HTML // len(unit.encode()))
    found(b"Content-Type: text/html; charset=utf-8\n\n" + page.encode(), seconds=2.0)
    found(b"Content-Type: text/html\n\n<a " + unit.encode() * 50_000 + b">x", seconds=2.0)


def test_hidden_text_is_left_out() -> None:
    page = "<title>T</title><SCRIPT>var x</script >a<!-- no -->b<style type=x>p</style><scripture>c</scripture><!-- end"
    assert text_of_html(page)[0] == "T\na" + "b c"


@pytest.mark.parametrize("text", ["", "x" * 100_000, " " * 100_000, "\n" * 100_000])
def test_texts_that_repeat(text: str) -> None:
    found(text.encode() * 20)


@pytest.mark.parametrize(
    "unit",
    [b"http://", b"http://a", b"https://a@", b"http://a@b ", b"\n--b", b"\n--b--\n", b"\n\n", b"\r\n\r", b"From "],
)
def test_bodies_that_repeat_what_is_searched(unit: bytes) -> None:
    found(b"Content-Type: multipart/mixed; boundary=b\n\n" + unit * (5_000_000 // len(unit)))
    found(b"Subject: s\n\n" + unit * (5_000_000 // len(unit)))


# ------------------------------------------------------------------------------------------------ charsets


@pytest.mark.parametrize(
    "charset",
    [
        "klingon",
        "zip",
        "hex",
        "rot13",
        "unicode_escape",
        "idna",
        "punycode",
        "mbcs",
        "undefined",
        "../x",
        "",
        "utf-8\0",
    ],
)
def test_charsets_that_are_not_believed(charset: str) -> None:
    content = b"Content-Type: text/plain; charset=" + charset.encode() + b"\n\ncaf\xc3\xa9 \\u0041"
    assert found(content)["body"] == "café \\u0041"
    subject = b"Subject: =?" + charset.encode().replace(b"\0", b"") + b"?q?caf=C3=A9?=\n\n"
    assert "caf" in found(subject)["subject"]


def test_all_charsets_that_are_believed_are_known() -> None:
    for charset in mail.CHARSETS:
        codecs.lookup(charset)
        assert isinstance(decode(bytes(range(256)), charset), str)


@pytest.mark.parametrize(
    ("content", "body"),
    [
        (b"\n\xff\xfe\x81", "ÿþ\x81"),
        (b"\n\xed\xa0\x80", "í\xa0€"),
        (b"Content-Type: text/plain; charset=utf-8\n\na\xffb", "a\ufffdb"),
        (b"Content-Type: text/plain; charset=utf-16\n\n\x00\xd8a", "\ufffd"),
        (b"Content-Type: text/plain; charset=utf-7\n\n+2AA-", "\ufffd"),
        (b"Content-Type: text/plain; charset=us-ascii\n\ncaf\xc3\xa9", "café"),
        (b"Content-Transfer-Encoding: base64\n\nY2Fmw6k", "café"),
        (b"Content-Transfer-Encoding: base64\n\nY2!!Fmw6k=\nY2", "cafécafé"[:4]),
        (b"Content-Transfer-Encoding: quoted-printable\n\n=C3=A9=\n=ZZ=", "é=ZZ"),
        (b"Content-Transfer-Encoding: x-unknown\n\nabc", "abc"),
    ],
)
def test_bytes_that_are_not_in_their_charset(content: bytes, body: str) -> None:
    assert found(content)["body"][: len(body)] == body


def test_a_fallback_for_bytes_without_a_charset() -> None:
    assert columns_of("Subject: привет\n\nмир".encode("koi8-r"), "koi8-r")["subject"] == "привет"
    assert columns_of(b"Subject: \xff\n\n", "no-such")["subject"] == "ÿ"


# ------------------------------------------------------------------------------------------- anything at all


def test_a_mail_cut_off_anywhere() -> None:
    content = nested(3).replace(b"innermost", base64.b64encode(b"text") + b"\n--b2--\n--b1\n\nmore\n--b1--")
    for size in range(len(content)):
        found(content[:size])


pieces = st.sampled_from(
    [b"Content-Type: ", b"multipart/mixed", b"text/html", b"message/rfc822", b"; boundary=", b"b", b'"', b"--b", b"--b--", b"\n", b"\r\n",
     b"\n\n", b"; charset=", b"utf-16", b"Subject: ", b"=?utf-8?b?", b"?=", b"Content-Transfer-Encoding: base64", b"; filename*0*=", b"'",
     b"<a href=", b">", b"<!--", b"&#xD800;", b"%ff", b"\xff", b"\0", b" ", b"From ", b"Received: from "]
)  # fmt: skip


@given(st.lists(st.one_of(pieces, pieces, st.binary(max_size=6)), max_size=40).map(b"".join))
def test_any_bytes(content: bytes) -> None:
    found(content)


@given(st.text(st.characters(exclude_categories=())))
def test_any_page(page: str) -> None:
    text_of_html(page)


@pytest.mark.parametrize("kind", ["text/plain", "text/html", "application/zip", "multipart/mixed; boundary=b"])
def test_a_mail_of_25_megabytes_in_a_second_and_256_megabytes(kind: str) -> None:
    program = f"""
import pathlib, re, resource, time
from discern.data.message import columns_of
head = b"Subject: big\\nContent-Type: {kind}\\nContent-Transfer-Encoding: base64\\n\\n--b\\n\\n"
content = head + (b"QUJD" * 19 + b"\\n") * (25_000_000 // 77)
start = time.process_time()
assert columns_of(content)["subject"] == "big"
seconds = time.process_time() - start
status = pathlib.Path("/proc/self/status")  # else the peak of the process that started this one would count
peak = re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1] if status.exists() else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(seconds, peak)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    seconds, peak = map(float, ran.stdout.split())
    assert seconds < 1
    assert peak < 256 * 1024  # kilobytes
