"""`isotherm plan NAME -t TEMPLATE`: what an update would do to each resource of a stack.

The engine's own code decides. A change that depends on a value which does not exist yet is marked with a question mark.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from isotherm.cli.client import home, inputs
from isotherm.cli.show import console
from isotherm.engine.orchestrator import Request
from isotherm.engine.preview.update_preview import Preview, PreviewItem
from isotherm.engine.process.embedded import Embedded

#: action -> (sign, style, words after the count)
ACTIONS = {
    "create": ("+", "green", "to create"), "update": ("~", "yellow", "to update in place"),
    "replace": ("±", "bold red", "to replace"), "delete": ("-", "red", "to delete"), "retain": ("-", "yellow", "to retain"),
    "no change": (" ", "dim", "without change"),
}
QUIET = "no change"


def preview(printer: console.Printer, name: str, read: inputs.TemplateInputs) -> None:
    """Print the preview of an update."""
    request = Request(read.text, read.files, read.environment.as_dict())

    async def ask(engine: Embedded) -> Preview:
        with inputs.located(read.document):
            return await engine.orchestrator.preview.changes(name, request)

    found = home.use(Embedded, ask)
    printer.result(found.as_dict(), lambda: _draw(name, found))


def _draw(name: str, found: Preview) -> Iterator[RenderableType]:
    counts = [(ACTIONS[action], number) for action, number in found.counts.items()]
    said = ", ".join(f"{number:,} {what}" for (_, _, what), number in counts)
    yield Text.assemble((console.clean(name), "bold"), f": {said or 'nothing to do'}")
    changing = [item for item in found.items if item.action != QUIET]
    if changing:
        yield Text("")
    for item in changing:
        yield _headline(item)
        for key, change in item.changes.items():
            yield Text.assemble("    ", (console.clean(key), "cyan"), ": ", console.text(change.before), (" → ", "dim"),
                                console.text(change.after))
    if not all(item.certain for item in found.items):
        yield Text("")
        yield Text("? depends on values that are known only during the update: it may need no change.", "dim")


def _headline(item: PreviewItem) -> Text:
    sign, style, _ = ACTIONS[item.action]
    line = Text.assemble(
        (f"{sign} ", style), (console.clean(item.name), "bold"), "  ", (console.clean(item.type), "dim"), "  "
    )
    line.append(item.action, style).append("" if item.certain else "?", "bold")
    if item.cause:
        line.append(f"  {console.clean(item.cause)}", "dim")
    return line
