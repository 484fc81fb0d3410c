"""Prints problems in the form of a compiler.

    site.yaml:14:7: error: resources.web.properties.colour: Unknown Property colour
       14 |       colour: red
          |       ^^^^^^
          = hint: ...

Editors and CI systems can jump to the location in the first line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from isotherm import errors
from isotherm.cli.show import console

_WORD = re.compile(r"""'[^']*'|"[^"]*"|[^\s:,{}\[\]]+""")
# The longest part of a source line that is shown, and the shortest.
_LONGEST_LINE, _SHORTEST_LINE = 160, 20
# Problems that are shown as text.
_MOST = 20


def show(printer: console.Printer, error: errors.UserError) -> None:
    """Print all problems of an error: to stderr as text, or to stdout as JSON."""
    if printer.as_json:
        printer.json({"problems": [as_data(problem) for problem in error.problems]})
        return
    for part in draw(error.problems, printer.sources, printer.err.width):
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


def draw(
    problems: Sequence[errors.Problem], sources: dict[str, str], width: int = _LONGEST_LINE
) -> Iterator[RenderableType]:
    """Draw the first problems in the order of the files, for a terminal of this width."""
    for problem in _in_order(problems)[:_MOST]:
        yield _headline(problem)
        gutter = 5
        if problem.mark and problem.mark.source in sources:
            gutter = max(5, len(str(problem.mark.line)) + 2)
            yield from _excerpt(sources[problem.mark.source], problem.mark, gutter, width)
        if problem.hint:
            yield Text.assemble((" " * gutter + " = ", "blue"), ("hint: ", "bold cyan"), console.clean(problem.hint))
    if len(problems) > 1:
        rest = f"; the first {_MOST} are shown, --json prints all" if len(problems) > _MOST else ""
        yield Text(f"{len(problems)} errors{rest}", "bold red")


def _in_order(problems: Sequence[errors.Problem]) -> list[errors.Problem]:
    """Sort problems by file, line and column; those without a location come first."""
    files = {source: number for number, source in enumerate(dict.fromkeys(one.mark.source for one in problems if one.mark))}
    return sorted(problems, key=lambda one: (files[one.mark.source], one.mark.line, one.mark.column) if one.mark
                  else (-1, 0, 0))


def _headline(problem: errors.Problem) -> Text:
    place = f"{problem.mark.source}:{problem.mark.line}:{problem.mark.column}: " if problem.mark else ""
    return Text.assemble((console.clean(place), "bold"), ("error: ", "bold red"), console.clean(str(problem)))


def _excerpt(source: str, mark: errors.Mark, gutter: int, width: int) -> Iterator[Text]:
    """Draw the line of a mark with a caret below it; of a long line, the part around the caret."""
    lines = source.split("\n", mark.line)
    if len(lines) < mark.line:
        return
    line = lines[mark.line - 1].rstrip("\r")
    before, rest = console.clean(line[:mark.column - 1]), console.clean(line[mark.column - 1:])
    most = max(_SHORTEST_LINE, min(_LONGEST_LINE, width - gutter - len(" | ")))
    if len(before) + len(rest) > most:
        before = _cut(before, most // 2, at_start=True)
        rest = _cut(rest, most - len(before))
    word = _WORD.match(rest)
    yield Text.assemble((f"{mark.line:>{gutter}} | ", "blue"), before, rest)
    # Tabs are kept, so that the caret is below its word at any tab width.
    lead = "".join("\t" if char == "\t" else " " for char in before)
    yield Text.assemble((" " * gutter + " | ", "blue"), lead, ("^" * (len(word[0]) if word else 1), "bold red"))


def _cut(text: str, most: int, *, at_start: bool = False) -> str:
    """Cut a text to a length, at its start or at its end."""
    if len(text) <= most:
        return text
    return f"...{text[len(text) - most + 3:]}" if at_start else f"{text[:most - 3]}..."
