"""The terminal: everything that a command prints goes through here.

One place decides whether there are colours (only on a terminal), how wide a table may be (as wide as it needs when
piped, so that no value is ever cut off for a program that reads it) and whether the answer is JSON. Commands hand over
data and a way to draw it, and never print themselves.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TextIO

import msgspec
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_UNBOUNDED = 100_000


class Printer:
    """What a command may print to. Made once by `main`, handed to each command as the object of its context."""

    def __init__(self) -> None:
        self.as_json = False
        #: The texts that were read, by the name under which problems speak of them.
        self.sources: dict[str, str] = {}

    @property
    def out(self) -> Console:
        return _console(sys.stdout)

    @property
    def err(self) -> Console:
        return _console(sys.stderr)

    def result(self, data: object, draw: Callable[[], Iterable[RenderableType]]) -> None:
        """Print the answer of a command: the data itself with --json, otherwise what `draw` makes of it."""
        if self.as_json:
            self.json(data)
            return
        self.say(draw)

    def say(self, draw: Callable[[], Iterable[RenderableType]]) -> None:
        """Print something for people."""
        console = self.out
        for part in draw():
            _print(console, part)

    def busy(self, doing: str) -> AbstractContextManager[object]:
        """Something that may take a while is going on; a terminal shows that it is."""
        still = self.as_json or not sys.stdout.isatty()
        return nullcontext() if still else self.out.status(Text(clean(doing), "dim"))

    def json(self, data: object) -> None:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n")

    def plain(self, text: str) -> None:
        """Print text that is meant for a program: no wrapping, no colours."""
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def _console(stream: TextIO) -> Console:
    width = None if stream.isatty() else _UNBOUNDED
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def _print(console: Console, part: RenderableType) -> None:
    """Print one part. What is not for a terminal loses the spaces that rich pads its lines with."""
    inner, left = (part.renderable, part.left) if isinstance(part, Padding) else (part, 0)
    if isinstance(inner, Columns) and inner.is_plain(console):
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
    """The text with control characters made visible: what a template says must not steer the terminal."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def text(value: object, style: str = "") -> Text:
    """A value as it stands in a table or sentence."""
    return Text(clean(value if isinstance(value, str) else compact(value)), style)


def compact(value: object) -> str:
    return "" if value is None else msgspec.json.encode(value).decode()


def about(description: object, constraints: Iterable[Mapping[str, object]]) -> Text:
    """What a parameter or property is, and after it what its value may be."""
    words = text(" ".join(str(description or "").split()))
    limits = "; ".join(limit(kind, facts) for constraint in constraints
                       for kind, facts in constraint.items() if kind != "description")
    if limits:
        words.append(clean(f" ({limits})" if words else limits), "dim")
    return words


def limit(kind: str, facts: Any) -> str:
    """A constraint in words: `1 to 512`, `one of red, green`."""
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


class Columns:
    """A table: drawn by rich where it may have to wrap, and as plain lines where it must not, or is long.

    rich looks at every cell several times: a plan of 10,000 resources would take seconds to draw, and less than one
    to make.
    """

    LONG = 2_000

    def __init__(self, names: Sequence[str], rows: list[list[Text]], styles: Sequence[str], keep: int) -> None:
        self._names, self._rows, self._styles, self._keep = names, rows, styles, keep

    def __rich__(self) -> Table:
        drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for index, name in enumerate(self._names):
            style = self._styles[index] if index < len(self._styles) else ""
            drawn.add_column(name, style=style, no_wrap=index < self._keep, overflow="fold")
        for row in self._rows:
            drawn.add_row(*row)
        return drawn

    def is_plain(self, console: Console) -> bool:
        """Whether lines will do. A cell of several lines needs rich."""
        if console.is_terminal and len(self._rows) < self.LONG:
            return False
        return not any("\n" in cell.plain for row in self._rows for cell in row)

    def lines(self) -> Iterator[str]:
        lines = [self._names, *([cell.plain for cell in row] for row in self._rows)]
        widths = [max(cell_len(line[index]) for line in lines) for index in range(len(self._names))]
        for line in lines:
            yield "  ".join(cell + " " * (width - cell_len(cell)) for cell, width in zip(line, widths, strict=True))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, styles: Sequence[str] = (),
          keep: int = 1) -> Columns:
    """Columns under their names. The first `keep` columns never wrap: they are what a reader copies."""
    cells = [[cell if isinstance(cell, Text) else text(cell) for cell in row] for row in rows]
    return Columns(columns, cells, styles, keep)


def facts(known: Iterable[tuple[str, object]]) -> Table:
    """Names and what is known under them, without a heading."""
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
