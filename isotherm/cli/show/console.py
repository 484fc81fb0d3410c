"""The Printer: prints the results of all commands, as text or as JSON.

It decides on colours (on a terminal only) and on the width of tables (unlimited in a pipe, so that a program never reads a
cut value). A command hands over its data and a function that draws it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TextIO

import msgspec
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_UNBOUNDED = 100_000


class Printer:
    """Prints what a command returns. `main` makes one and passes it to the command as click's context object."""

    def __init__(self) -> None:
        self.as_json = False
        #: Texts that were read, by the file name that problems cite.
        self.sources: dict[str, str] = {}

    @property
    def out(self) -> Console:
        return _console(sys.stdout)

    @property
    def err(self) -> Console:
        return _console(sys.stderr)

    def result(self, data: object, draw: Callable[[], Iterable[RenderableType]]) -> None:
        """Print the result of a command: the data with --json, otherwise what `draw` returns."""
        if self.as_json:
            self.json(data)
            return
        self.say(draw)

    def say(self, draw: Callable[[], Iterable[RenderableType]]) -> None:
        """Print text for people."""
        console = self.out
        for part in draw():
            _print(console, part)

    def busy(self, doing: str) -> AbstractContextManager[object]:
        """Show a spinner on a terminal while the block runs."""
        still = self.as_json or not sys.stdout.isatty()
        return nullcontext() if still else self.out.status(Text(clean(doing), "dim"))

    def json(self, data: object) -> None:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n")

    def plain(self, text: str) -> None:
        """Print text for a program, without wrapping and colours."""
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def _console(stream: TextIO) -> Console:
    width = None if stream.isatty() else _UNBOUNDED
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def _print(console: Console, part: RenderableType) -> None:
    """Print one part. Strip the spaces with which rich pads lines, unless it is a terminal."""
    inner, left = (part.renderable, part.left) if isinstance(part, Padding) else (part, 0)
    if isinstance(inner, TextTable) and inner.is_plain(console):
        console.file.writelines(f"{' ' * left}{line}".rstrip() + "\n" for line in inner.lines())
        return
    if console.is_terminal:
        console.print(part)
        return
    with console.capture() as captured:
        console.print(part)
    for line in captured.get().splitlines():
        console.file.write(line.rstrip() + "\n")


def clean(text: str) -> str:
    """Escape control characters, so that text from a template cannot control the terminal."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def text(value: object, style: str = "") -> Text:
    """Return a value as text for a table or a sentence."""
    return Text(clean(value if isinstance(value, str) else compact(value)), style)


def compact(value: object) -> str:
    return "" if value is None else msgspec.json.encode(value).decode()


def about(description: object, constraints: Iterable[Mapping[str, object]]) -> Text:
    """Return the description of a parameter or property, followed by its constraints."""
    words = text(" ".join(str(description or "").split()))
    limits = "; ".join(limit(kind, facts) for constraint in constraints
                       for kind, facts in constraint.items() if kind != "description")
    if limits:
        words.append(clean(f" ({limits})" if words else limits), "dim")
    return words


def limit(kind: str, facts: Any) -> str:
    """Describe a constraint: `1 to 512`, `one of red, green`."""
    if kind == "range":
        return _between(facts)
    if kind == "length":
        return f"length {_between(facts)}"
    if kind == "allowed_values":
        return f"one of {', '.join(value if isinstance(value, str) else compact(value) for value in facts)}"
    if kind == "allowed_pattern":
        return f"matches {facts}"
    if kind == "modulo":
        return f"a multiple of {facts.get('step')}, plus {facts.get('offset')}"
    return f"checked by {facts}" if kind == "custom_constraint" else f"{kind}: {compact(facts)}"


def _between(facts: Mapping[str, object]) -> str:
    low, high = facts.get("min"), facts.get("max")
    if low is not None and high is not None:
        return f"{low} to {high}"
    return f"at least {low}" if high is None else f"at most {high}"


class TextTable:
    """A table, drawn by rich on a terminal and as plain lines in a pipe or if it is long.

    rich measures every cell several times: it takes seconds for a table of 10,000 rows.
    """

    LONG = 2_000
    #: The least width to which columns that do not wrap are cut: that of a time. And the width left for each other column.
    KEPT, DETAILS = 20, 16

    def __init__(self, names: Sequence[str], rows: list[list[Text]], styles: Sequence[str], keep: int) -> None:
        self._names, self._rows, self._styles, self._keep = names, rows, styles, keep

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        most = self._widest_kept(options.max_width)
        for index, name in enumerate(self._names):
            style = self._styles[index] if index < len(self._styles) else ""
            if index < self._keep:
                drawn.add_column(name, style=style, no_wrap=True, overflow="ellipsis", max_width=most)
            else:
                drawn.add_column(name, style=style, overflow="fold")
        for row in self._rows:
            drawn.add_row(*row)
        yield drawn

    def _widest_kept(self, width: int) -> int:
        """Return the width to which the widest columns that do not wrap are cut, so that the other columns are seen."""
        widths = self._widths()
        kept, others = widths[:self._keep], widths[self._keep:]
        space = width - 2 * len(widths) - sum(min(one, self.DETAILS) for one in others)
        most = max(kept, default=0)
        while most > self.KEPT and sum(min(one, most) for one in kept) > space:
            most -= 1
        return most

    def _widths(self) -> list[int]:
        return [max(cell_len(name), *(cell_len(row[index].plain) for row in self._rows)) if self._rows else cell_len(name)
                for index, name in enumerate(self._names)]

    def is_plain(self, console: Console) -> bool:
        """Return whether to print plain lines. A cell of several lines needs rich."""
        if console.is_terminal and len(self._rows) < self.LONG:
            return False
        return not any("\n" in cell.plain for row in self._rows for cell in row)

    def lines(self) -> Iterator[str]:
        widths = self._widths()
        for line in (self._names, *([cell.plain for cell in row] for row in self._rows)):
            yield "  ".join(cell + " " * (width - cell_len(cell)) for cell, width in zip(line, widths, strict=True))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, styles: Sequence[str] = (),
          keep: int = 1) -> TextTable:
    """Return a table. The first `keep` columns never wrap, so that their values can be copied.

    On a narrow terminal, the widest of them are cut: a long name hides no other column.
    """
    cells = [[cell if isinstance(cell, Text) else text(cell) for cell in row] for row in rows]
    return TextTable(columns, cells, styles, keep)


def facts(known: Iterable[tuple[str, object]]) -> Table:
    """Return a table of names and values, without a heading."""
    drawn = Table.grid(padding=(0, 2, 0, 0))
    drawn.add_column(no_wrap=True, style="dim")
    drawn.add_column(overflow="fold")
    for name, value in known:
        drawn.add_row(name, value if isinstance(value, Text) else text(value))
    return drawn


def heading(words: str) -> Text:
    return Text(words, "bold")


def indent(part: RenderableType) -> Padding:
    return Padding(part, (0, 0, 0, 2), expand=False)


def count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
