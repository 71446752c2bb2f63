"""Asking the daemon: ``discern filter`` without loading anything, if one is listening.

Imports as little as can be: this is all that runs for a message when there is a daemon.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass

MARK = b"\x01discern "
"""How a question with settings begins; a mail does not, as this is no header."""
PATIENCE = 60.0
"""Seconds to wait for the daemon; then the message is judged here."""
BLOCK = 1 << 16
SPAM_CUTOFF, HAM_CUTOFF = 0.9, 0.1
"""From which probability on a message is spam, and up to which it is not, unless told or decided otherwise."""


@dataclass
class Question:
    """What is asked of ``discern filter``, with the defaults of its options."""

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
        """The name of the socket."""
        return self.socket or f"{self.model}.socket"


SWITCHES = ("exit_code", "json", "quiet")
VALUES = ("spam", "spam_cutoff", "ham_cutoff", "socket")


def filtered(arguments: Sequence[str]) -> int | None:
    """Do what ``discern filter`` does by asking the daemon, and give the exit code; None if that cannot be."""
    question = parsed(arguments)
    connection = None if question is None else _connected(question)
    if question is None or connection is None:
        return None
    content = sys.stdin.buffer.read()
    with connection:
        answer = _asked(connection, question, content)
    if answer is None:
        import io

        sys.stdin = io.TextIOWrapper(io.BytesIO(content))  # to be judged here
        return None
    verdict, marked = answer
    if question.json:
        sys.stdout.write(verdict["json"] + "\n")
    elif not question.exit_code:
        sys.stdout.buffer.write(marked)
    sys.stdout.flush()
    return int(verdict["code"]) if question.exit_code else 0


def parsed(arguments: Sequence[str]) -> Question | None:
    """Read the arguments; None if there is anything unusual among them, which is left to others to complain about."""
    import discern.cli.defaults as defaults

    question, rest = Question(), list(arguments)
    try:
        for name, value in defaults.of_command("filter", (*SWITCHES, *VALUES), defaults.contents()).items():
            _set(question, name, value)
        while rest:
            word, equals, value = rest.pop(0).partition("=")
            name = "quiet" if word == "-q" else word[2:].replace("-", "_") if word.startswith("--") else ""
            if name in SWITCHES and not equals:
                setattr(question, name, True)
            elif name in VALUES:
                _set(question, name, value if equals else rest.pop(0))
            elif name or word.startswith("-") or question.model:
                return None
            else:
                question.model = word + equals + value
    except (ValueError, IndexError):
        return None
    high = SPAM_CUTOFF if question.spam_cutoff is None else question.spam_cutoff
    low = min(HAM_CUTOFF, high) if question.ham_cutoff is None else question.ham_cutoff
    return question if question.model and 0 <= low <= high <= 1 else None


def _set(question: Question, name: str, value: object) -> None:
    if name in ("spam_cutoff", "ham_cutoff"):
        setattr(question, name, float(str(value)))
    elif name in SWITCHES:
        words = {
            "1": True,
            "true": True,
            "yes": True,
            "on": True,
            "0": False,
            "false": False,
            "no": False,
            "off": False,
        }
        if str(value).lower() not in words:
            raise ValueError
        setattr(question, name, words[str(value).lower()])
    else:
        setattr(question, name, str(value))


def _connected(question: Question) -> socket.socket | None:
    try:
        owner = os.stat(question.place).st_uid
        if owner not in (os.geteuid(), 0, os.stat(question.model).st_uid):
            return None  # someone else's: would be shown our mail
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    except (OSError, AttributeError, ValueError):
        return None
    try:
        connection.settimeout(PATIENCE)
        connection.connect(question.place)
    except (OSError, ValueError):
        connection.close()
        return None
    return connection


def _asked(connection: socket.socket, question: Question, content: bytes) -> tuple[dict[str, str], bytes] | None:
    """Ask, and give the verdict and the marked message; None if the answer is not whole."""
    import json

    given = {name: getattr(question, name) for name in ("spam", "spam_cutoff", "ham_cutoff")}
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
