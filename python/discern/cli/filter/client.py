"""The client of the daemon. With a daemon nothing else runs for a message, so it imports as little as possible."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass

MARK = b"\x01discern "
"""The first bytes of a request with settings. No mail begins with them, since they are not a header."""
TIMEOUT = 60.0
"""Seconds to wait for the daemon; after that the message is classified here."""
BLOCK = 1 << 16
SPAM_CUTOFF, HAM_CUTOFF = 0.9, 0.1
"""By default, a message is spam from the first probability on, and not spam up to the second."""


@dataclass
class FilterRequest:
    """The arguments of ``discern filter``, with the defaults of its options."""

    model: str = ""
    spam: str = "spam"
    spam_cutoff: float | None = None
    ham_cutoff: float | None = None
    exit_code: bool = False
    json: bool = False
    quiet: bool = False
    socket: str = ""

    @property
    def place(self) -> str:
        """The path of the socket."""
        return self.socket or f"{self.model}.socket"


SWITCHES = ("exit_code", "json", "quiet")
VALUES = ("spam", "spam_cutoff", "ham_cutoff", "socket")
TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def filtered(arguments: Sequence[str]) -> int | None:
    """Have the daemon do what ``discern filter`` does, and return the exit code; None if no daemon can."""
    request = parsed(arguments)
    connection = None if request is None else _connection(request)
    if request is None or connection is None:
        return None
    content = sys.stdin.buffer.read()
    with connection:
        answer = _answer(connection, request, content)
    if answer is None:
        import io

        sys.stdin = io.TextIOWrapper(io.BytesIO(content))  # to be classified here
        return None
    verdict, marked = answer
    if request.json:
        sys.stdout.write(verdict["json"] + "\n")
    elif not request.exit_code:
        sys.stdout.buffer.write(marked)
    sys.stdout.flush()
    return int(verdict["code"]) if request.exit_code else 0


def parsed(arguments: Sequence[str]) -> FilterRequest | None:
    """Read the arguments. Return None if any is unusual: the full command then handles or refuses them."""
    import discern.cli.defaults as defaults

    request, rest = FilterRequest(), list(arguments)
    try:
        for name, value in defaults.of_command("filter", (*SWITCHES, *VALUES), defaults.contents()).items():
            _set(request, name, value)
        while rest:
            word, equals, value = rest.pop(0).partition("=")
            name = "quiet" if word == "-q" else word[2:].replace("-", "_") if word.startswith("--") else ""
            if name in SWITCHES and not equals:
                setattr(request, name, True)
            elif name in VALUES:
                _set(request, name, value if equals else rest.pop(0))
            elif name or word.startswith("-") or request.model:
                return None
            else:
                request.model = word + equals + value
    except (ValueError, IndexError):
        return None
    high = SPAM_CUTOFF if request.spam_cutoff is None else request.spam_cutoff
    low = min(HAM_CUTOFF, high) if request.ham_cutoff is None else request.ham_cutoff
    return request if request.model and 0 <= low <= high <= 1 else None


def _set(request: FilterRequest, name: str, value: object) -> None:
    if name in ("spam_cutoff", "ham_cutoff"):
        setattr(request, name, float(str(value)))
    elif name in SWITCHES:
        if str(value).lower() not in (*TRUE, *FALSE):
            raise ValueError
        setattr(request, name, str(value).lower() in TRUE)
    else:
        setattr(request, name, str(value))


def _connection(request: FilterRequest) -> socket.socket | None:
    try:
        owner = os.stat(request.place).st_uid
        if owner not in (os.geteuid(), 0, os.stat(request.model).st_uid):
            return None  # somebody else's: it would see our mail
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    except (OSError, AttributeError, ValueError):
        return None
    try:
        connection.settimeout(TIMEOUT)
        connection.connect(request.place)
    except (OSError, ValueError):
        connection.close()
        return None
    return connection


def _answer(connection: socket.socket, request: FilterRequest, content: bytes) -> tuple[dict[str, str], bytes] | None:
    """Send the message and return the verdict and the marked message; None if the answer is incomplete."""
    import json

    given = {name: getattr(request, name) for name in ("spam", "spam_cutoff", "ham_cutoff")}
    settings = {name: value for name, value in given.items() if value is not None}
    try:
        connection.sendall(MARK + json.dumps(settings).encode() + b"\n" + content)
        connection.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: connection.recv(BLOCK), b""))
        head, _, marked = received.partition(b"\n")
        verdict = json.loads(head)
        return (verdict, marked) if len(marked) == verdict["bytes"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
