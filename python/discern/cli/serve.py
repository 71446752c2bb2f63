"""The command that serves a model over HTTP."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from discern.cli import options
from discern.cli.output import to_json

TokenFile = Path | None


def serve(
    model: options.ModelFile,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; on any other address a token is needed.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="How many processes answer.")] = 1,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|URL", help="The feedback log: a file, or postgresql://…", show_default="MODEL.feedback"
        ),
    ] = None,
    read_token_file: Annotated[
        TokenFile,
        typer.Option(
            metavar="FILE",
            help="Holds the token for reading.",
            show_default="DISCERN_READ_TOKEN_FILE or DISCERN_READ_TOKEN",
        ),
    ] = None,
    teach_token_file: Annotated[
        TokenFile,
        typer.Option(
            metavar="FILE",
            help="Holds the token for teaching.",
            show_default="DISCERN_TEACH_TOKEN_FILE or DISCERN_TEACH_TOKEN",
        ),
    ] = None,
    host_name: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name by which the service is addressed; may be given more than once."),
    ] = None,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy",
            help="Take the client's address from a proxy on this machine; answer streams when they are whole.",
        ),
    ] = False,
    held_out: Annotated[
        Path | None,
        typer.Option(metavar="DATA", help="Rows with labels to judge the model on, for its card.", show_default="none"),
    ] = None,
    max_body: Annotated[int, typer.Option(min=1024, metavar="BYTES", help="The largest JSON body.")] = 8 << 20,
    max_stream: Annotated[int, typer.Option(min=1024, metavar="BYTES", help="The largest stream or CSV file.")] = 1
    << 30,
    max_row: Annotated[int, typer.Option(min=1024, metavar="BYTES", help="The largest row of CSV or JSON lines.")] = 8
    << 20,
    max_rows: Annotated[int, typer.Option(min=1, help="Rows in one JSON body.")] = 10_000,
    max_tokens: Annotated[int, typer.Option(min=1, help="Words in one text.")] = 200_000,
    rate: Annotated[
        float | None,
        typer.Option(
            min=0, metavar="N", help="Requests a second from one address; 0: any.", show_default="100, on 127.0.0.1 any"
        ),
    ] = None,
    compact_after: Annotated[
        int,
        typer.Option(min=0, metavar="ROWS", help="Write the log into the model file from so many rows on; 0: never."),
    ] = 100_000,
    accept_file: Annotated[
        bool,
        typer.Option("--accept-file", help="Serve a file that is older than the log, without the feedback in between."),
    ] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Serve a model over HTTP, with a page: predict, explain, learn, forget, evaluate.

    Feedback is written to a durable log before it is acknowledged. Log lines are JSON on stderr; --quiet leaves out
    those of requests, and --json writes where the service listens. Needs the extra serve: pip install 'discern[serve]'.
    """
    try:
        from discern.service.run import serve as run
    except ModuleNotFoundError as error:
        raise typer.BadParameter(f"{error.name} is missing: pip install 'discern[serve]'") from error
    from discern.service.settings import Limits, Settings

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
        limits=Limits(body=max_body, stream=max_stream, row=max_row, rows=max_rows, tokens=max_tokens, rate=rate),
    )
    announce = (lambda facts: typer.echo(to_json(facts))) if json else None
    raise typer.Exit(run(settings, not quiet, announce))


def _token(path: Path | None, variable: str) -> bytes | None:
    """Read a token; it is not taken from the command line, which others on the machine can see."""
    named = os.environ.get(f"{variable}_FILE")
    if path is not None or named:
        return Path(path or str(named)).read_bytes().strip()
    value = os.environ.pop(variable, "")
    return value.encode("utf-8") or None
