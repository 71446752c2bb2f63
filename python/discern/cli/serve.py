"""The command serve: answer HTTP requests with a model."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discern.cli.options import ModelFile, Output, command
from discern.cli.output import print_json

if TYPE_CHECKING:
    from discern.service.settings import Limits as ServiceLimits


@dataclass(frozen=True)
class Limits:
    """What a client may send."""

    max_body: Annotated[int, typer.Option(min=1024, metavar="BYTES", help="The largest JSON body.")] = 8 << 20
    max_stream: Annotated[int, typer.Option(min=1024, metavar="BYTES", help="The largest stream or CSV file.")] = (
        1 << 30
    )
    max_row: Annotated[int, typer.Option(min=1024, metavar="BYTES", help="The largest row of CSV or JSON lines.")] = (
        8 << 20
    )
    max_rows: Annotated[int, typer.Option(min=1, help="The most rows in one JSON body.")] = 10_000
    max_tokens: Annotated[int, typer.Option(min=1, help="The most words in one text.")] = 200_000
    rate: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Requests per second from one address; 0: no limit.",
            show_default="100; no limit on 127.0.0.1",
        ),
    ] = None

    def of_service(self) -> ServiceLimits:
        """Return the limits as the service takes them."""
        from discern.service.settings import Limits as ServiceLimits

        return ServiceLimits(**{name.removeprefix("max_"): value for name, value in vars(self).items()})


@dataclass(frozen=True)
class Tokens:
    """The secrets that clients must know."""

    read_token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The file with the token for reading.",
            show_default="DISCERN_READ_TOKEN_FILE or DISCERN_READ_TOKEN",
        ),
    ] = None
    teach_token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The file with the token for teaching.",
            show_default="DISCERN_TEACH_TOKEN_FILE or DISCERN_TEACH_TOKEN",
        ),
    ] = None


@command(
    "discern serve messages.discern",
    "discern serve messages.discern --port 8080 --workers 2 --held-out held-out.csv",
    "discern serve messages.discern --host 0.0.0.0 --host-name discern.example.org --teach-token-file teach.token",
)
def serve(
    *,
    model: ModelFile,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="The address to listen on. One that other machines can reach needs tokens."
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="The number of processes.")] = 1,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|URL", help="The feedback log: a file, or postgresql://…", show_default="MODEL.feedback"
        ),
    ] = None,
    tokens: Tokens,
    host_name: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A host name under which clients reach it; may be given more than once."),
    ] = None,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy",
            help="Take the client's address from a proxy on this machine, and send each streamed answer as a whole.",
        ),
    ] = False,
    held_out: Annotated[
        Path | None,
        typer.Option(metavar="DATA", help="Held-out rows with labels, for the model card.", show_default="none"),
    ] = None,
    limits: Limits,
    compact_after: Annotated[
        int,
        typer.Option(
            min=0, metavar="ROWS", help="Write the log into the model file when it has this many rows; 0: never."
        ),
    ] = 100_000,
    accept_file: Annotated[
        bool,
        typer.Option("--accept-file", help="Serve a file that is older than the log, without the feedback in between."),
    ] = False,
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
    from discern.service.settings import Settings

    settings = Settings(
        model=model.resolve(),
        host=host,
        port=port,
        workers=workers,
        store=store,
        read_token=_token(tokens.read_token_file, "DISCERN_READ_TOKEN"),
        teach_token=_token(tokens.teach_token_file, "DISCERN_TEACH_TOKEN"),
        host_names=tuple(host_name or ()),
        behind_proxy=behind_proxy,
        held_out=None if held_out is None else str(held_out),
        compact_after=compact_after,
        accept_file=accept_file,
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
