"""`isotherm observer`: looks at what stacks have made, and does nothing else. Any number of them share a database."""

from __future__ import annotations

from pathlib import Path

import click

from isotherm.cli import binding, home, options, serving, show, supervising
from isotherm.engine.embedded import Embedded


@click.command(epilog=options.example("isotherm observer", "isotherm observer --config-file observer.conf"))
@serving.workers_option
@options.files_option
@options.json_option
@click.pass_obj
def observer(terminal: show.Terminal, workers: int | None, files: tuple[Path, ...]) -> int | None:
    """Run an observer alone, until it is told to end.

    It looks at all resources within a budget, tells what has drifted, and asks for repairs where the policy of the stack
    says so; `isotherm up` and `isotherm engine` carry them out. `isotherm up` has an observer of its own.
    """

    def tell() -> None:
        serving.tell(terminal, {"folder": str(home.folder())}, [
            f"Isotherm looks at what the stacks in {home.folder()} have made."])

    several = serving.several("observer", files, lambda _: workers or 0)
    if several is not None:
        settings, crew = several
        return supervising.run(crew, settings, tell)

    async def work(it: Embedded, stop: serving.Stop) -> None:
        it.address = binding.address(it.settings)
        async with it.observing():
            tell()
            stop.parent.ready()
            await stop.asked.wait()

    return serving.run(files, work)
