"""`isotherm observer`: looks at what stacks have made, and does nothing else. Any number of them share a home."""

from __future__ import annotations

from pathlib import Path

import click

from isotherm.cli import options, serving, show
from isotherm.engine.embedded import Embedded


@click.command(epilog=options.example("isotherm observer", "isotherm observer --config-file observer.conf"))
@options.files_option
@options.json_option
@click.pass_obj
def observer(terminal: show.Terminal, files: tuple[Path, ...]) -> None:
    """Run an observer alone, until it is told to end.

    It looks at all resources within a budget, tells what has drifted, and asks for repairs where the policy of the stack
    says so; `isotherm up` and `isotherm engine` carry them out. `isotherm up` has an observer of its own.
    """

    async def work(it: Embedded, stop: serving.Stop) -> None:
        it.address = serving.address(it.settings)
        async with it.observing():
            serving.tell(terminal, {"folder": str(it.path)}, [f"Isotherm looks at what the stacks in {it.path} have made."])
            await stop.asked.wait()

    serving.run(files, work)
