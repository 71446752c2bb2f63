"""The command for data that others have gathered."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from discern.cli import options
from discern.cli.output import say, to_json


class Action(StrEnum):
    """What to do with data sets."""

    list = "list"
    fetch = "fetch"


def datasets(
    action: Annotated[Action, typer.Argument(metavar="ACTION", help="list or fetch.", show_default=False)],
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The data set to fetch.", show_default=False)
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """List well-known data sets with their licences, or fetch one and print where its files are.

    The folder in the environment variable DISCERN_DATA is looked into first. What is not there is downloaded by pooch
    (pip install 'discern[datasets]').
    """
    from discern.data.datasets import CATALOGUE, fetch, found

    if (action is Action.fetch) != (name is not None):
        raise typer.BadParameter("give either list, or fetch and a name")
    if name is not None:
        files = fetch(name, tell=lambda message: say(message, quiet))
        typer.echo(to_json({"name": name, "files": files}) if json else "\n".join(files))
        return
    if json:
        sets = [{**one.to_dict(), "files": found(one)} for one in CATALOGUE.values()]
        typer.echo(to_json(sets))
        return
    from discern.cli.show import console, plain_table, show

    table = plain_table("name", "what it is", "licence", "homepage", "here", left=5)
    for one in CATALOGUE.values():
        table.add_row(one.name, one.about, one.licence, one.homepage, "yes" if found(one) else "no")
    show(console(), table)
