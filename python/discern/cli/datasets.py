"""The command datasets: list and fetch well-known data sets."""

from __future__ import annotations

from enum import StrEnum

import typer

from discern.cli.options import Output, argument, command
from discern.cli.output import print_json, to_json


class Action(StrEnum):
    """What to do with data sets."""

    list = "list"
    fetch = "fetch"


TEXTS = ("what it is", "license")


@command("discern datasets list", "discern datasets fetch sms-spam")
def datasets(
    *,
    action: Action = argument(..., "ACTION", "list or fetch."),
    name: str | None = argument(None, "NAME", "The data set to fetch."),
    out: Output,
) -> None:
    """List well-known data sets with their licenses, or fetch one and print where its files are.

    Files in the folder that the environment variable DISCERN_DATA names are used first. Other files are downloaded
    with pooch (pip install 'discern[datasets]').
    """
    from discern.data.datasets import CATALOG, fetch, found

    if (action is Action.fetch) != (name is not None):
        raise typer.BadParameter("pass either list, or fetch and a name")
    if name is not None:
        files = fetch(name, tell=out.say)
        typer.echo(to_json({"name": name, "files": files}) if out.json else "\n".join(files))
        return
    if out.json:
        print_json([{**one.to_dict(), "files": found(one)} for one in CATALOG.values()])
        return
    from discern.cli.screen.tables import console, plain_table, show

    table = plain_table("name", "what it is", "license", "homepage", "here", left=5, drop=("homepage",), wraps=TEXTS)
    table.names = table.wraps  # a cut name could not be fetched, and a cut address not be opened
    for one in CATALOG.values():
        table.add_row(one.name, one.about, one.license, one.homepage, "yes" if found(one) else "no")
    show(console(), table)
