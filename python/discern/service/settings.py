"""Settings of the service: address, tokens and limits."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

SHORTEST_TOKEN = 16
"""The minimum number of characters of a token."""
OPEN_RATE = 100.0
"""Requests per second of one client, where other machines can reach the service."""


@dataclass(frozen=True)
class Limits:
    """The limits of one request and of one client.

    ``body`` and ``stream`` are bytes of a JSON body and of a streamed one; ``rows`` and ``stream_rows`` their rows;
    ``row`` is the bytes of one row of CSV or JSON lines; ``tokens`` the words of one text. ``header_seconds`` is the
    time for the head of a request, ``idle_seconds`` that for which nothing may come, ``send_seconds`` that for which
    an answer may be left unread; ``rate`` is in requests a second for each client.
    """

    body: int = 8 << 20
    stream: int = 1 << 30
    row: int = 8 << 20
    rows: int = 10_000
    stream_rows: int = 5_000_000
    tokens: int = 200_000
    header_bytes: int = 32 << 10
    header_seconds: float = 5.0
    idle_seconds: float = 5.0
    send_seconds: float = 30.0
    rate: float | None = None


@dataclass(frozen=True)
class Settings:
    """Settings of the service, validated on construction."""

    model: Path
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    store: str | None = None
    read_token: bytes | None = None
    teach_token: bytes | None = None
    host_names: tuple[str, ...] = ()
    behind_proxy: bool = False
    held_out: str | None = None
    compact_after: int = 100_000
    accept_file: bool = False
    embed: Path | None = None
    """The folder of a static embedding, for a model that embeds texts."""
    synchronous: str = "FULL"
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        for token in (self.read_token, self.teach_token):
            if token is not None and len(token) < SHORTEST_TOKEN:
                raise ValueError(f"a token must have at least {SHORTEST_TOKEN} characters: make a longer one")
        if self.read_token is not None and self.read_token == self.teach_token:
            raise ValueError("the tokens for reading and for teaching must differ")
        if not self.is_private and not self.has_tokens:
            raise ValueError(
                f"other machines can reach {self.host}: set tokens (--read-token-file, --teach-token-file), "
                "or listen on 127.0.0.1"
            )

    @property
    def is_private(self) -> bool:
        """Whether only this machine can reach the service."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def has_tokens(self) -> bool:
        """Whether requests need a token."""
        return self.read_token is not None or self.teach_token is not None

    @property
    def rate(self) -> float | None:
        """The requests a second that one client may send; None without a limit."""
        if self.limits.rate is not None:
            return self.limits.rate or None
        return None if self.is_private else OPEN_RATE

    @property
    def allowed_hosts(self) -> frozenset[str]:
        """The host names that the service answers to, so that pages of other sites cannot reach it."""
        own = {"127.0.0.1", "localhost", "[::1]"} if self.is_private else {self.host}
        return frozenset(name.lower() for name in {*own, *self.host_names})

    @property
    def log_place(self) -> str:
        """The feedback log: a URL, or a file beside the model."""
        return self.store or f"{self.model}.feedback"
