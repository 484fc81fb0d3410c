"""The memory of views of large stacks: what was read in many pieces, kept for the next look.

It holds values only. `overview` fills it and knows how long they are good; nothing here is needed to be right.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class ViewMemory:
    """The remembered values of one process."""

    tallies: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)
    graphs: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)
    drawn: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)
    failures: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)
    # Reads that are under way, which several callers wait for.
    asked: dict[Hashable, asyncio.Future[Any]] = field(default_factory=dict)


def keep(kept: OrderedDict[Hashable, Any], key: Hashable, value: object, most: int) -> None:
    """Keep a value, and drop the oldest ones beyond `most`."""
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)
