"""Cuts an entry out of the text of a document, with the comments of the others left as they are."""

from __future__ import annotations

from isotherm.template.text import document


def without(text: str, section: str, name: str) -> str | None:
    """Return the text without one entry of a section; None if it cannot be cut out, as in JSON on one line."""
    whole = document.load(text)
    entries = whole.data[section]
    start = whole.mark((section, name))
    if start is None:
        return None
    lines = text.splitlines(keepends=True)
    names = list(entries)
    later = names[names.index(name) + 1:]
    follower = whole.mark((section, later[0])) if later else None
    end = end_of_entry(lines, start.line, start.column) if follower is None else follower.line - 1
    # A comment directly above the next entry belongs to that entry.
    while end > start.line and follower is not None and lines[end - 1].lstrip().startswith("#"):
        end -= 1
    rest = "".join((*lines[:start.line - 1], *lines[end:]))
    wanted = {**whole.data, section: {key: one for key, one in entries.items() if key != name}}
    return rest if reads_as(rest, wanted) else None


def end_of_entry(lines: list[str], line: int, column: int) -> int:
    """Return the number of lines up to the end of the entry that begins at this position."""
    for number in range(line, len(lines)):
        words = lines[number].strip()
        if words and not words.startswith("#") and len(lines[number]) - len(lines[number].lstrip()) < column - 1:
            return number
    return len(lines)


def reads_as(text: str, wanted: object) -> bool:
    """Return whether the text is a document with this content."""
    try:
        return bool(document.load(text).data == wanted)
    except Exception:  # noqa: BLE001 - the text that was cut is no document any more
        return False
