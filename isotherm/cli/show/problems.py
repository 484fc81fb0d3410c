"""Prints problems in the form of a compiler.

    site.yaml:14:7: error: resources.web.properties.colour: Unknown Property colour
       14 |       colour: red
          |       ^^^^^^
          = hint: ...

Editors and CI systems can jump to the location in the first line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.text import Text

from isotherm import errors
from isotherm.cli.show import console

_WORD = re.compile(r"""'[^']*'|"[^"]*"|[^\s:,{}\[\]]+""")
_LONGEST_LINE = 160


def tell(printer: console.Printer, error: errors.UserError) -> None:
    """Print all problems of an error: to stderr as text, or to stdout as JSON."""
    if printer.as_json:
        printer.json({"problems": [as_data(problem) for problem in error.problems]})
        return
    for part in draw(error.problems, printer.sources):
        printer.err.print(part)


def as_data(problem: errors.Problem) -> dict[str, object]:
    data: dict[str, object] = {"message": str(problem), "kind": problem.kind}
    if problem.path:
        data["path"] = problem.path
    if problem.hint:
        data["hint"] = problem.hint
    if problem.mark:
        data |= {"file": problem.mark.source, "line": problem.mark.line, "column": problem.mark.column}
    return data


def draw(problems: Iterable[errors.Problem], sources: dict[str, str]) -> Iterator[RenderableType]:
    number = 0
    for number, problem in enumerate(problems, 1):  # noqa: B007  # the last number is wanted
        yield _headline(problem)
        gutter = 5
        if problem.mark and problem.mark.source in sources:
            gutter = max(5, len(str(problem.mark.line)) + 2)
            yield from _excerpt(sources[problem.mark.source], problem.mark, gutter)
        if problem.hint:
            yield Text.assemble((" " * gutter + " = ", "blue"), ("hint: ", "bold cyan"), console.clean(problem.hint))
    if number > 1:
        yield Text(f"{number} errors", "bold red")


def _headline(problem: errors.Problem) -> Text:
    place = f"{problem.mark.source}:{problem.mark.line}:{problem.mark.column}: " if problem.mark else ""
    return Text.assemble((console.clean(place), "bold"), ("error: ", "bold red"), console.clean(str(problem)))


def _excerpt(source: str, mark: errors.Mark, gutter: int) -> Iterator[Text]:
    lines = source.split("\n", mark.line)
    if len(lines) < mark.line:
        return
    line = lines[mark.line - 1].rstrip("\r")
    before = line[:mark.column - 1]
    if len(line) > _LONGEST_LINE:
        return
    word = _WORD.match(line, mark.column - 1)
    width = len(console.clean(word[0])) if word else 1
    yield Text.assemble((f"{mark.line:>{gutter}} | ", "blue"), console.clean(line))
    # Tabs are kept, so that the caret is below its word at any tab width.
    lead = "".join("\t" if char == "\t" else " " for char in console.clean(before))
    yield Text.assemble((" " * gutter + " | ", "blue"), lead, ("^" * max(width, 1), "bold red"))
