"""`heat-manage service`: the engines that work on a home, and those that died there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from rich.console import RenderableType

from isotherm.cli import home, options, show
from isotherm.engine import housekeeping
from isotherm.engine.folder import Folder


@click.group()
def service() -> None:
    """The engines there are."""


@service.command("list", epilog=options.example("isotherm manage service list"))
@options.json_option
@click.pass_obj
def list_(terminal: show.Terminal) -> None:
    """List the engines: those that are up, and those that died and have not been cleaned up after yet."""
    found = home.use(Folder, _services)
    terminal.answer(found, lambda: _draw(found))


@service.command("clean", epilog=options.example("isotherm manage service clean"))
@options.json_option
@click.pass_obj
def clean(terminal: show.Terminal) -> None:
    """Clean up after engines that died: what they held can be taken up at once.

    Every engine does so when it starts, and what a dead one held runs out by itself.
    """
    names = home.use(Folder, housekeeping.clean_services)
    terminal.answer({"cleaned": names}, lambda: [show.text(f"{show.count(len(names), 'dead engine')} cleaned up after.")])


async def _services(folder: Folder) -> list[dict[str, Any]]:
    return housekeeping.services(folder)


def _draw(found: list[dict[str, Any]]) -> Iterator[RenderableType]:
    if not found:
        yield show.text("No engine is running.", "dim")
        return
    styles = {"up": "green", "down": "red"}
    yield show.table(["engine", "binary", "status", "since"], [
        (one["engine_id"], one["binary"], show.text(one["status"], styles[one["status"]]), one["since"]) for one in found],
        styles=["cyan"])
