"""The command serve: answer HTTP requests with a model."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from discern.cli.options import Embed, ModelFile, Output, command, option
from discern.cli.output import print_json

if TYPE_CHECKING:
    from discern.service.settings import Limits as ServiceLimits


@dataclass(frozen=True)
class Limits:
    """What a client may send."""

    max_body: int = option(8 << 20, "The largest JSON body.", min=1024, metavar="BYTES")
    max_stream: int = option(1 << 30, "The largest stream or CSV file.", min=1024, metavar="BYTES")
    max_row: int = option(8 << 20, "The largest row of CSV or JSON lines.", min=1024, metavar="BYTES")
    max_rows: int = option(10_000, "The most rows in one JSON body.", min=1)
    max_tokens: int = option(200_000, "The most words in one text.", min=1)
    rate: float | None = option(
        None,
        "Requests per second from one address; 0: no limit.",
        min=0,
        metavar="N",
        show_default="100; no limit on 127.0.0.1",
    )

    def of_service(self) -> ServiceLimits:
        """Return the limits as the service takes them."""
        from discern.service.settings import Limits as ServiceLimits

        return ServiceLimits(**{name.removeprefix("max_"): value for name, value in vars(self).items()})


@command(
    "discern serve messages.discern",
    "discern serve messages.discern --port 8080 --workers 2 --held-out held-out.csv",
    "discern serve messages.discern --host 0.0.0.0 --host-name discern.example.org --teach-token-file teach.token",
)
def serve(
    *,
    model: ModelFile,
    host: str = option(
        "127.0.0.1", "The address to listen on. One that other machines can reach needs tokens.", metavar="ADDRESS"
    ),
    port: int = option(8000, "The port; 0 takes a free one.", min=0, max=65535),
    workers: int = option(1, "The number of processes.", min=1, max=64),
    store: str | None = option(
        None, "The feedback log: a file, or postgresql://…", metavar="FILE|URL", show_default="MODEL.feedback"
    ),
    read_token_file: Path | None = option(
        None,
        "The file with the token for reading.",
        metavar="FILE",
        show_default="DISCERN_READ_TOKEN_FILE or DISCERN_READ_TOKEN",
    ),
    teach_token_file: Path | None = option(
        None,
        "The file with the token for teaching.",
        metavar="FILE",
        show_default="DISCERN_TEACH_TOKEN_FILE or DISCERN_TEACH_TOKEN",
    ),
    host_name: list[str] | None = option(
        None, "A host name under which clients reach it; may be given more than once.", metavar="NAME"
    ),
    behind_proxy: bool = option(
        False, "Take the client's address from a proxy on this machine, and send each streamed answer as a whole."
    ),
    embed: Embed = None,
    held_out: Path | None = option(
        None, "Held-out rows with labels, for the model card.", metavar="DATA", show_default="none"
    ),
    limits: Limits,
    compact_after: int = option(
        100_000, "Write the log into the model file when it has this many rows; 0: never.", min=0, metavar="ROWS"
    ),
    accept_file: bool = option(False, "Serve a file that is older than the log, without the feedback in between."),
    out: Output,
) -> None:
    """Serve a model over HTTP, with a page: predict, explain, learn, forget, evaluate.

    Feedback is written to a durable log before it is acknowledged. Log lines are JSON on stderr. --quiet leaves out
    the lines about requests, and --json prints the address. Needs the extra serve: pip install 'discern[serve]'.
    """
    try:
        from discern.service.run import serve as run
    except ModuleNotFoundError as error:
        raise typer.BadParameter(f"{error.name} is missing: pip install 'discern[serve]'") from error
    from discern.data.source import refuse_missing
    from discern.service.settings import Settings

    refuse_missing(model)
    settings = Settings(
        model=model.resolve(),
        host=host,
        port=port,
        workers=workers,
        store=store,
        read_token=_token(read_token_file, "DISCERN_READ_TOKEN"),
        teach_token=_token(teach_token_file, "DISCERN_TEACH_TOKEN"),
        host_names=tuple(host_name or ()),
        behind_proxy=behind_proxy,
        held_out=None if held_out is None else str(held_out),
        compact_after=compact_after,
        accept_file=accept_file,
        embed=embed,
        limits=limits.of_service(),
    )
    raise typer.Exit(run(settings, not out.quiet, print_json if out.json else None))


def _token(path: Path | None, variable: str) -> bytes | None:
    """Read a token from a file or the environment; others on the machine could see it on the command line."""
    named = os.environ.get(f"{variable}_FILE")
    if path is not None or named:
        return Path(path or str(named)).read_bytes().strip()
    value = os.environ.pop(variable, "")
    return value.encode("utf-8") or None
