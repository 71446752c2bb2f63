"""A mail as columns: subject, from, to, body, html, attachments, received, links, route.

Anybody can send a mail, so everything here is bounded: the depth and number of parts, the length of headers, the bytes
of text to decode, the charsets to trust. The standard library decodes headers and parameters. It does not walk the
parts, because its parser recurses and takes a time that grows faster than the message.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from html.parser import HTMLParser
from typing import ClassVar

from discern.data.batch import Batch, Column, did_you_mean
from discern.data.strings import DataError, Strings

COLUMNS = ("subject", "from", "to", "body", "html", "attachments", "received", "links", "route")

# Limits on what is read of a message.
MAX_BYTES = 1 << 25
MAX_PARTS = 500
MAX_DEPTH = 30
MAX_HEADER_BLOCK = 1 << 18
"""Bytes of all headers of a message or part."""
MAX_HEADER = 1 << 13
MAX_PARAMETERS = 1 << 11
"""Characters of a header with parameters, such as Content-Type."""
MAX_TEXT = 1 << 20
"""Bytes of all plain texts of a message."""
MAX_HTML = 1 << 19
"""Bytes of all HTML of a message."""
MAX_HOPS = 50
MAX_LINKS = 1000
MAX_TAG = 1000

CHARSETS = frozenset(
    [
        *("utf-8", "us-ascii", "ascii", "latin-1", "utf-16", "utf-16le", "utf-16be", "utf-7", "koi8-r", "koi8-u"),
        *(f"iso-8859-{part}" for part in range(1, 17) if part != 12),
        *(f"windows-{page}" for page in range(1250, 1259)),
        *(f"cp{page}" for page in range(1250, 1259)),
        *("gb2312", "gbk", "gb18030", "big5", "big5-hkscs", "hz-gb-2312", "euc-jp", "shift_jis", "iso-2022-jp"),
        *("euc-kr", "ks_c_5601-1987", "iso-2022-kr", "tis-620", "macintosh", "cp437", "cp850", "cp866", "cp932"),
    ]
)
"""The charsets to trust. A text in another one is read as UTF-8, or else as Windows-1252."""

HEADER = re.compile(rb"([!-9;-~]+)[ \t]*:")
HOP = re.compile(r"\b(?:from|by)\s+([A-Za-z0-9._\-\[\]:]{1,255})")
UNIQUE = re.compile(r";[^;]*$|\b(?:id|ID)[ \t]+[^ \t;]+")
"""The parts of a hop that no other mail shares: its time, and the number that the host gave to the mail."""
LINK = re.compile(r"\b(?:https?|ftp)://(?:[^\s/@<>\"']{0,100}@)?([A-Za-z0-9.\-\[\]]{1,255})", re.IGNORECASE)
BLANK_LINE = re.compile(rb"\n\r?\n")
BASE64_ONLY = bytes(set(range(256)) - set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"))
SURROGATES = re.compile("[\ud800-\udfff]")
BETWEEN_ANGLES = re.compile(r"<[^<>]*>")
TAG = re.compile(r"</?[A-Za-z]")
HIDDEN = (
    (re.compile("<!--"), re.compile("-->"), ""),
    *(
        (re.compile(rf"<{name}(?![a-z])", re.IGNORECASE), re.compile(rf"</{name}[^<>]*>?", re.IGNORECASE), " ")
        for name in ("script", "style")
    ),
)
"""Parts of a page that are not shown: how they open and close, and what replaces them."""
BLOCK_TAGS = frozenset(
    ["p", "br", "div", "tr", "td", "th", "li", "h1", "h2", "h3", "h4", "table", "title", "hr", "option"]
)


@dataclass(frozen=True)
class Mails(Batch):
    """Mails as rows. A model of a single column ``text`` gets subject, body and html."""

    min_word_length: ClassVar[int] = 1
    """Pairs with the single letters and digits of prices, numbers and names tell spam from good mail."""

    def is_text(self, name: str) -> bool:
        """Return whether a column holds text: all columns of a mail do."""
        return name in COLUMNS

    def column(self, name: str) -> Column:
        """Return a column; ``text`` is subject, body and html in one."""
        if name in self.columns:
            return self.columns[name]
        if name != "text":
            raise DataError(f"{self.source_has} no column {name!r}{did_you_mean(name, [*self.columns, 'text'])}")
        parts = [self.columns[part].to_list() for part in ("subject", "body", "html")]
        return Strings.of(["\n".join(filter(None, values)) for values in zip(*parts, strict=True)])


def as_mails(contents: list[bytes], source: str, row: int = 1, fallback: str | None = None) -> Mails:
    """Return messages as rows; ``fallback`` as in :func:`columns_of`."""
    found = [columns_of(content, fallback) for content in contents]
    columns = {name: Strings.of([values[name] for values in found]) for name in COLUMNS}
    return Mails(columns, len(found), source, row)


def columns_of(content: bytes, fallback: str | None = None) -> dict[str, str]:
    """Return the columns of a message; never raises, whatever the bytes are.

    A text without a charset, or with one that is not trusted, is read as ``fallback`` if that is given.

    Examples
    --------
    >>> mail = b"From: Ann <ann@example.org>\\nSubject: =?utf-8?q?caf=C3=A9?=\\n\\nSee https://example.com/menu"
    >>> found = columns_of(mail)
    >>> found["subject"], found["from"], found["links"]
    ('café', 'Ann <ann@example.org>', 'example.com')
    """
    found = _Found(fallback)
    headers, body = split(content[:MAX_BYTES])
    entity = _Entity(_headers(headers), body, 0)
    _walk(entity, found)
    text, html = "\n".join(found.texts), "\n".join(found.pages)
    hops = [decode(value, None, fallback) for value in entity.headers.get("received", ())[:MAX_HOPS]]
    values = {
        "subject": entity.text("subject", fallback),
        "from": entity.text("from", fallback),
        "to": "\n".join(filter(None, (entity.text("to", fallback), entity.text("cc", fallback)))),
        "body": text,
        "html": html,
        "attachments": "\n".join(found.names),
        "received": "\n".join(" ".join(HOP.findall(hop)) for hop in hops),
        "links": _hosts([text, html, *found.addresses]),
        "route": "\n".join(UNIQUE.sub(" ", hop).strip() for hop in hops),
    }
    return {name: SURROGATES.sub("\ufffd", value) for name, value in values.items()}


def split(content: bytes) -> tuple[bytes, bytes]:
    """Split a message into its headers, without the line that begins it in an mbox, and its body."""
    start = content.find(b"\n") + 1 or len(content) if content.startswith(b"From ") else 0
    if content.startswith((b"\n", b"\r\n"), start):
        return b"", content[start + (1 if content.startswith(b"\n", start) else 2) :]
    blank = BLANK_LINE.search(content, start)
    return (content[start : blank.start() + 1], content[blank.end() :]) if blank else (content[start:], b"")


def with_headers(content: bytes, headers: dict[str, str], own: str) -> bytes:
    """Return a message with new headers at its top, and without its headers whose names begin with ``own``.

    The body is unchanged.

    Examples
    --------
    >>> with_headers(b"X-Mine: forged\\nTo: ann\\n\\nX-Mine: body", {"X-Mine": "ham"}, "X-Mine")
    b'X-Mine: ham\\nTo: ann\\n\\nX-Mine: body'
    """
    start = content.find(b"\n") + 1 or len(content) if content.startswith(b"From ") else 0
    end = start
    if not content.startswith((b"\n", b"\r\n"), start):
        blank = BLANK_LINE.search(content, start)
        end = blank.start() + 1 if blank else len(content)
    ending = "\r\n" if content[: content.find(b"\n") + 1].endswith(b"\r\n") else "\n"
    added = "".join(f"{name}: {value}{ending}" for name, value in headers.items()).encode("ascii", "replace")
    if start and content[start - 1 : start] != b"\n":  # only the line that begins it in an mbox
        added = ending.encode() + added
    forged = re.compile(
        rb"^%s[!-9;-~]*[ \t]*:.*(?:\n[ \t].*)*(?:\n|\Z)" % re.escape(own.encode()), re.IGNORECASE | re.MULTILINE
    )
    return content[:start] + added + forged.sub(b"", content[start:end]) + content[end:]


# ------------------------------------------------------------------------------------------------------- headers


@dataclass
class _Found:
    """The content of the parts so far."""

    fallback: str | None
    texts: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    parts: int = 0
    text_left: int = MAX_TEXT
    html_left: int = MAX_HTML


@dataclass(frozen=True)
class _Entity:
    """A message or a part of one: its headers by lower-case name, and its body."""

    headers: dict[str, list[bytes]]
    body: bytes
    depth: int

    def text(self, name: str, fallback: str | None) -> str:
        """Return a header as text, or an empty one."""
        return "\n".join(_decode_words(value, fallback) for value in self.headers.get(name, ())[:1])

    @property
    def described(self) -> Message:
        """Return the headers that describe the content, for the standard library to parse."""
        message = Message()
        for name in ("content-type", "content-disposition", "content-transfer-encoding"):
            for value in self.headers.get(name, ())[:1]:
                message[name] = value[:MAX_PARAMETERS].decode("latin-1")
        return message


def _headers(block: bytes) -> dict[str, list[bytes]]:
    """Return the headers of a block, unfolded and cut."""
    found: dict[str, list[bytes]] = {}
    values: list[bytes] = []
    for line in block[:MAX_HEADER_BLOCK].replace(b"\r\n", b"\n").split(b"\n"):
        if line[:1] in (b" ", b"\t"):
            if values and len(values[-1]) < MAX_HEADER:
                values[-1] += b" " + line.strip()
            continue
        named = HEADER.match(line)
        if named is None:
            continue  # not a header: ignored
        values = found.setdefault(named[1].decode("ascii").lower(), [])
        values.append(line[named.end() : named.end() + MAX_HEADER].strip())
    return found


def _decode_words(value: bytes, fallback: str | None) -> str:
    """Decode a header with encoded words (RFC 2047)."""
    text = decode(value[:MAX_HEADER], None, fallback)
    if "=?" not in text:
        return text
    try:
        pieces = decode_header(text)
    except (MessageError, ValueError):
        return text
    return "".join(piece if isinstance(piece, str) else decode(piece, charset, fallback) for piece, charset in pieces)


def decode(content: bytes, charset: str | None, fallback: str | None = None) -> str:
    """Decode bytes by their charset if it is trusted; never fails."""
    named = (charset or "").strip().strip("\"'").lower()
    # Text with the charset ASCII or none, but with other bytes, is mostly UTF-8.
    trusted = named if named in CHARSETS and named not in ("us-ascii", "ascii") else None
    for name in [trusted] if trusted else ["utf-8", fallback or "cp1252"]:
        try:
            return content.decode(name)
        except (UnicodeError, LookupError, ValueError):
            continue
    return content.decode(trusted, "replace") if trusted else content.decode("latin-1")


def _hosts(texts: list[str]) -> str:
    """Return the hosts of all links, each once, a line a host."""
    found: dict[str, None] = {}
    for text in texts:
        for link in LINK.finditer(text):
            found[link[1].lower().rstrip(".")] = None
            if len(found) == MAX_LINKS:
                return "\n".join(found)
    return "\n".join(found)


# --------------------------------------------------------------------------------------------------------- parts


def _walk(entity: _Entity, found: _Found) -> None:
    """Collect the content of all parts, in order, without recursion."""
    waiting = [entity]
    while waiting and found.parts < MAX_PARTS:
        part = waiting.pop()
        found.parts += 1
        kind, boundary = _kind(part.described)
        if kind.startswith("multipart/") and boundary and part.depth < MAX_DEPTH:
            inside = _parts(part.body, boundary, MAX_PARTS - found.parts)
        elif kind in ("message/rfc822", "message/global") and part.depth < MAX_DEPTH:
            inside = iter([part.body])
        else:
            _take(part, kind, found)
            continue
        entities = [_Entity(_headers(headers), body, part.depth + 1) for headers, body in map(split, inside)]
        waiting.extend(reversed(entities))
        if not entities and part.body:  # the boundary does not occur: mail programs show the body as text
            _take(part, "text/plain", found)


def _kind(described: Message) -> tuple[str, bytes]:
    try:
        boundary = described.get_boundary() or ""
        return described.get_content_type(), boundary.encode("latin-1", "replace")[:200]
    except (MessageError, ValueError, LookupError, TypeError, AttributeError):
        return "text/plain", b""


def _parts(body: bytes, boundary: bytes, most: int) -> Iterator[bytes]:
    """Return the content between lines that begin with the boundary."""
    line = re.compile(rb"(?:\A|\n)--" + re.escape(boundary) + rb"(--)?[ \t]*\r?(?=\n|\Z)")
    start = None
    for found in line.finditer(body):
        if start is not None:
            yield body[start : found.start() + 1]
            most -= 1
        start = min(found.end() + 1, len(body))
        if found[1] or most <= 0:
            return
    if start is not None:
        yield body[start:]  # cut off


def _take(part: _Entity, kind: str, found: _Found) -> None:
    """Collect the text of a part, or the name of an attachment."""
    described = part.described
    name, charset = _name_and_charset(described)
    if name:
        found.names.append(_decode_words(name.encode("utf-8", "replace"), found.fallback)[:500])
    attached = str(described.get("content-disposition", "")).strip().lower().startswith("attachment")
    if attached or not kind.startswith("text/"):
        return
    encoding = str(described.get("content-transfer-encoding", "")).strip().lower()
    if kind == "text/html":
        content = _transferred(part.body, encoding, found.html_left)
        found.html_left -= len(content)
        text, addresses = text_of_html(decode(content, charset, found.fallback))
        found.pages.append(text)
        found.addresses.extend(addresses)
    else:
        content = _transferred(part.body, encoding, found.text_left)
        found.text_left -= len(content)
        found.texts.append(decode(content, charset, found.fallback))


def _name_and_charset(described: Message) -> tuple[str, str | None]:
    try:
        return described.get_filename("") or "", described.get_content_charset()
    except (MessageError, ValueError, LookupError, TypeError, AttributeError):
        return "", None


def _transferred(body: bytes, encoding: str, most: int) -> bytes:
    """Return the first ``most`` bytes of the body without its transfer encoding."""
    if encoding == "base64":
        letters = body[: most + most // 2].translate(None, BASE64_ONLY)
        letters = letters[: len(letters) - (len(letters) % 4 == 1)]
        try:
            return binascii.a2b_base64(letters + b"=" * (-len(letters) % 4))[:most]
        except binascii.Error:
            return b""
    if encoding == "quoted-printable":
        return binascii.a2b_qp(body[: 3 * most])[:most]
    return body[:most]


# ---------------------------------------------------------------------------------------------------------- HTML


class _Text(HTMLParser):
    """Collects the text between tags and the addresses in them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in BLOCK_TAGS:
            self.pieces.append("\n")
        for name, value in attrs:
            if value and name in ("href", "src", "action", "background"):
                self.addresses.append(value)
            elif value and name in ("alt", "title"):
                self.pieces.append(f" {value} ")

    def handle_endtag(self, tag: str) -> None:
        if tag in BLOCK_TAGS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)


def text_of_html(page: str) -> tuple[str, list[str]]:
    """Return the text of an HTML page and the addresses in it, in time linear in the size of the page.

    Examples
    --------
    >>> text_of_html("<style>p {}</style><p>Free &amp; <a href='http://example.com/x'>easy</a><!-- hidden -->")
    ('Free & easy', ['http://example.com/x'])
    """
    parser = _Text()
    # In one call, because the parser searches its unfinished rest again each time.
    parser.feed("".join(_tags_and_texts(_without_hidden(page))))
    parser.close()
    lines = (line.strip() for line in "".join(parser.pieces).split("\n"))
    return "\n".join(line for line in lines if line), parser.addresses


def _without_hidden(page: str) -> str:
    """Return the page without comments, scripts and styles; an unclosed one extends to the end."""
    for opening, closing, between in HIDDEN:
        page = _without(page, opening, closing, between)
    return page


def _without(page: str, opening: re.Pattern[str], closing: re.Pattern[str], between: str) -> str:
    kept, place = [], 0
    while (start := opening.search(page, place)) is not None:
        kept.append(page[place : start.start()])
        end = closing.search(page, start.end())
        if end is None:
            return "".join(kept)
        kept.append(between)
        place = end.end()
    return "".join([*kept, page[place:]])


def _tags_and_texts(page: str) -> Iterator[str]:
    """Return the page as short tags and texts without ``<``, which the parser reads in linear time."""
    place = 0
    for found in BETWEEN_ANGLES.finditer(page):
        yield page[place : found.start()].replace("<", " ")
        place = found.end()
        if len(found[0]) <= MAX_TAG and TAG.match(found[0]):
            yield found[0]
    yield page[place:].replace("<", " ")
