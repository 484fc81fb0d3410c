"""Pastes an entry into the text of a document, with the comments of the others left as they are."""

from __future__ import annotations

import textwrap
from typing import Any

import yaml

from isotherm.template.text import cut, document


class _Dumper(yaml.SafeDumper):
    """Writes no aliases: the reader of a template counts what they expand to."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def into(text: str, section: str, name: str, entry: Any) -> str | None:
    """Return the text with one more entry at the end of a section; None if it cannot be pasted in, as into JSON."""
    whole = document.load(text)
    entries = whole.data.get(section)
    if not isinstance(entries, dict) or not entries:
        return None
    last = whole.mark((section, list(entries)[-1]))
    if last is None:
        return None
    lines = text.splitlines(keepends=True)
    at = cut.end_of_entry(lines, last.line, last.column)
    while at > last.line and (not lines[at - 1].strip() or _is_comment_outside(lines[at - 1], last.column)):
        at -= 1
    if not lines[at - 1].endswith("\n"):
        lines[at - 1] += "\n"
    block = yaml.dump({name: entry}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
    pasted = "".join((*lines[:at], textwrap.indent(block, " " * (last.column - 1)), *lines[at:]))
    return pasted if cut.reads_as(pasted, {**whole.data, section: {**entries, name: entry}}) else None


def _is_comment_outside(line: str, column: int) -> bool:
    """Return whether a line is a comment to the left of the entry: it belongs to what follows the section."""
    words = line.lstrip()
    return words.startswith("#") and len(line) - len(words) < column - 1
