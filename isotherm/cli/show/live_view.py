"""The live view of a stack, drawn frame by frame.

It fits the window; finished resources are left out first. Deleted resources stay visible until the operation ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from isotherm.cli.show import console, tree, words
from isotherm.engine.queries.follow import Frame, ResourceLine
from isotherm.states import ENDED, Action, NodeState, OperationState, Status

# Lines above and below the lines of resources.
FRAME_LINES = 8
# The least width of names.
_SHORTEST_NAME = 24
_FAILURES = 3
_LACKING = (NodeState.FAILED, NodeState.SKIPPED)
_ACTIVE = (NodeState.RUNNING, NodeState.WAITING, NodeState.SCHEDULED)


@dataclass(slots=True)
class Bar:
    """The progress of the current phase. Each phase has its own count: the clean-up is planned after the update."""

    phase: tuple[str, OperationState] | None = None
    total: int = 0
    done: int = 0

    def take(self, frame: Frame) -> None:
        phase = (str(frame.stack["operation_id"]), frame.phase)
        if frame.ended:
            self.total = max(self.total, sum(frame.counts.values()))
            self.done = self.total - sum(n for state, n in frame.counts.items() if state not in ENDED)
            return
        if phase != self.phase:
            self.phase, self.total = phase, 0
        counted = sum(frame.counts.values()) if frame.phase is OperationState.UPDATING else 0
        self.total = max(self.total, frame.remaining, counted)
        self.done = self.total - frame.remaining


@dataclass(slots=True)
class LiveView:
    """Draws frames, and keeps the lines of resources that newer frames no longer contain."""

    bar: Bar = field(default_factory=Bar)
    _seen: dict[int, ResourceLine] = field(default_factory=dict)
    _operation: str = ""

    def draw(self, frame: Frame, height: int, trouble: str = "") -> RenderableType:
        """Draw a frame within `height` lines. `trouble` is the last warning of the engine."""
        self.bar.take(frame)
        lines = self._lines(frame)
        warning = [_cut(Text(f"! {console.clean(trouble)}", "yellow"))] if trouble else []
        return Group(*_head(frame, self.bar), *warning, *_body(frame, lines, max(height - FRAME_LINES, 3)))

    def _lines(self, frame: Frame) -> list[ResourceLine]:
        if frame.stack["operation_id"] != self._operation:
            self._seen, self._operation = {}, str(frame.stack["operation_id"])
        if not frame.whole:
            return list(frame.lines)
        present = {line.id: self._with_known_parent(line) for line in frame.lines}
        for id_, line in self._seen.items():
            if id_ not in present:
                # A deletion that no frame showed has no known beginning: that of the line is of an earlier operation.
                present[id_] = replace(line, state=NodeState.DONE, action=Action.DELETE, touched=True, waits_for_count=0,
                                       began_at=line.began_at if line.action is Action.DELETE else None,
                                       ended_at=line.ended_at or frame.at, reason="")
        self._seen = dict(sorted(present.items()))
        return list(self._seen.values())

    def _with_known_parent(self, line: ResourceLine) -> ResourceLine:
        """Keep the previous parent of a line: deleting a resource deletes the edges to its dependents."""
        before = self._seen.get(line.id)
        return replace(line, waits_for=before.waits_for) if before and not line.waits_for else line


def _head(frame: Frame, bar: Bar) -> Iterator[RenderableType]:
    stack = frame.stack
    action = Action[stack["action"]]
    title = Text.assemble((console.clean(stack["stack_name"]), "bold"), "  ", words.status(stack["stack_status"]))
    if not frame.ended and frame.phase is OperationState.CLEANING and action is not Action.DELETE:
        title.append("  cleaning up", "blue")
    spent = (frame.ended_at or frame.at) - frame.began_at
    yield _sides(title, Text(words.duration(spent), "dim"))
    colour = "red" if frame.failures else "green" if frame.ended else "blue"
    drawn = ProgressBar(total=max(bar.total, 1), completed=bar.done if bar.total else 1, complete_style=colour,
                        finished_style=colour)
    grid = Table.grid(expand=True, padding=(0, 1))
    grid.add_column(ratio=1)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_row(drawn, f"{bar.done:,}/{bar.total:,}")
    yield grid
    if counts := _counts(frame, bar):
        yield counts


def _counts(frame: Frame, bar: Bar) -> Text:
    counts = Text()
    for word, states, style in words.STATE_COUNTS:
        number = sum(frame.counts.get(state, 0) for state in states)
        if number:
            counts.append(" · " if counts else "").append(f"{number:,} {word}", style)
    return counts or Text("nothing to do" if frame.ended and not bar.total else "", "dim")


def _body(frame: Frame, lines: Sequence[ResourceLine], height_left: int) -> Iterator[RenderableType]:
    shown, left_out = _fitting(lines, height_left)
    if not frame.whole:
        left_out = max(sum(frame.counts.values()) - sum(line.visited for line in shown), left_out)
    if shown:
        yield Text("")
        yield _Lines(frame, shown, lines)
    if left_out:
        yield Text(f"  and {console.count(left_out, 'other')}", "dim")
    here = {line.name for line in shown if line.state is NodeState.FAILED}
    for name, reason in [failure for failure in frame.failures if failure[0] not in here][-_FAILURES:]:
        yield _cut(Text.assemble(("✗ ", "bold red"), (console.clean(name), "cyan"), "  ", (console.clean(reason), "red")))


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of resources. A name takes at most half of a wide terminal, so that it hides no time and no reason."""

    frame: Frame
    shown: Sequence[ResourceLine]
    known: Sequence[ResourceLine]

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[Table]:
        yield _grid(self.frame, self.shown, self.known, max(_SHORTEST_NAME, options.max_width // 2))


def _fitting(lines: Sequence[ResourceLine], height_left: int) -> tuple[list[ResourceLine], int]:
    """Return the lines that fit: failed first, then active, then waiting, then done; and the number left out."""
    if len(lines) <= height_left:
        return list(lines), 0
    ranks = {NodeState.FAILED: 0, **dict.fromkeys(_ACTIVE, 1), NodeState.PENDING: 2, NodeState.SKIPPED: 3}
    best = sorted(lines, key=lambda line: (ranks.get(line.state, 4), line.id))[: height_left - 1]
    return sorted(best, key=lambda line: line.id), len(lines) - len(best)


def _grid(frame: Frame, shown: Sequence[ResourceLine], known: Sequence[ResourceLine], most: int) -> Table:
    # Names are not unique: a superseded version has the name of its successor.
    by_name = {line.name: line for line in sorted(known, key=lambda line: line.unwanted, reverse=True)}
    ids = {name: line.id for name, line in by_name.items()}
    drawn = {line.id: line for line in shown}
    grid = Table.grid(expand=True, padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, overflow="ellipsis", max_width=most)
    grid.add_column(no_wrap=True, min_width=9)
    grid.add_column(no_wrap=True, justify="right", min_width=6, style="dim")
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    requires = {line.id: [ids[name] for name in line.waits_for if name in ids] for line in shown}
    for prefix, id_ in tree.arrange(requires):
        grid.add_row(*_row(frame, prefix, drawn[id_], by_name))
    return grid


def _row(frame: Frame, prefix: str, line: ResourceLine, by_name: dict[str, ResourceLine]) -> tuple[Text, ...]:
    sign, style = words.SIGNS[line.state]
    quiet = "dim" if line.state in (NodeState.PENDING, NodeState.SKIPPED) or not line.touched else ""
    name = Text.assemble((prefix, "dim"), (f"{sign} ", style), (console.clean(line.name), quiet or "cyan"))
    if by_name[line.name].id != line.id:
        name.append(" (old)", "dim")
    if line.inner is not None:
        name.append(f" {line.inner[0]:,}/{line.inner[1]:,}", "dim")
    return name, Text(words.of(line), style if style != "green" else ""), Text(_time(frame, line)), _detail(line, by_name)


def _time(frame: Frame, line: ResourceLine) -> str:
    if line.began_at is None or not line.touched or line.state is NodeState.PENDING:
        return ""
    if line.status is Status.IN_PROGRESS and line.state not in ENDED:
        return words.duration(frame.at - line.began_at)
    return words.duration(line.ended_at - line.began_at) if line.ended_at is not None else ""


def _detail(line: ResourceLine, by_name: dict[str, ResourceLine]) -> Text:
    if line.state is NodeState.PENDING:
        names = [name for name in line.waits_for if name not in by_name or by_name[name].state not in ENDED]
        return (
            Text(f"for {console.clean(words.some(names, line.waits_for_count))}", "dim") if line.waits_for_count else Text()
        )
    if line.state is NodeState.SKIPPED:
        lacking = [name for name in line.waits_for if name in by_name and by_name[name].state in _LACKING]
        return Text(f"needs {console.clean(words.some(lacking, len(lacking)))}" if lacking else "", "dim")
    # "being created" repeats the column beside it, "creating".
    said = "" if line.reason == f"being {words.done(line.action)}" else line.reason
    return Text(console.clean(said), "red" if line.state is NodeState.FAILED else "dim")


def _sides(left: Text, right: Text) -> Table:
    grid = Table.grid(expand=True)
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    grid.add_column(no_wrap=True, justify="right")
    grid.add_row(left, right)
    return grid


def _cut(text: Text) -> Text:
    text.no_wrap, text.overflow = True, "ellipsis"
    return text
