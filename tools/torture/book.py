"""The users' own book: what they asked for and when, what they were answered, and what may therefore be true.

An answer of 2xx is a promise, one of 4xx is a refusal, and everything else (no answer, 5xx) leaves it open whether the
operation was accepted, and when. From that alone follows what a stack may look like: an operation may be the newest one
unless another was promised that was asked for after the first one's answer had come.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tools.torture import shapes
from tools.torture.shapes import Shape

CREATE, UPDATE, DELETE, CHECK, SUSPEND, RESUME = "create", "update", "delete", "check", "suspend", "resume"
CANCEL, STAY = "cancel_update", "cancel_without_rollback"
VISITS = frozenset({CHECK, SUSPEND, RESUME})
ACCEPTED, REFUSED, UNKNOWN = "accepted", "refused", "unknown"
# After this long nobody is still at work on a request that was never answered.
LATE_S = 90.0


@dataclass(slots=True)
class Operation:
    """Something that was asked for. Times are those of the users' clock."""

    number: int
    stack: str
    kind: str
    began: float
    edition: str = ""
    # Whether a failure of it leads back to an older edition.
    rolls_back: bool = False
    outcome: str = UNKNOWN
    ended: float = math.inf
    # The API that was asked, and which of its lives that was.
    via: str = ""
    life: int = 0
    said: str = ""

    @property
    def sets_edition(self) -> bool:
        """Whether it says anew what the stack is to be."""
        return self.kind in (CREATE, UPDATE, DELETE, CANCEL)

    def happened_before(self, moment: float) -> bool:
        return self.ended < moment


class Book:
    """All operations of a run, and what each edition of a stack is."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.editions: dict[str, Shape] = {"": shapes.EMPTY}

    def ask(self, stack: str, kind: str, now: float, shape: Shape | None = None, *, rolls_back: bool = False) -> Operation:
        number = len(self.operations) + 1
        edition = f"e{number}" if shape is not None else ""
        if shape is not None:
            self.editions[edition] = shape
        made = Operation(number, stack, kind, now, edition, rolls_back)
        self.operations.append(made)
        return made

    def of(self, stack: str) -> list[Operation]:
        return [one for one in self.operations if one.stack == stack]

    def unsettled(self, stack: str, now: float, lives: Mapping[str, int]) -> bool:
        """Whether a request may still be on its way, of which nobody has heard, in an API that lives."""
        return any(one.outcome == UNKNOWN and one.began > now - LATE_S and lives[one.via] == one.life
                   for one in self.of(stack))

    def newest(self, stack: str, by: float = math.inf) -> Iterator[Operation]:
        """Those that may be the newest that says what the stack is to be, as somebody sees it who looks at that time."""
        setting = [one for one in self.of(stack) if one.sets_edition and one.outcome != REFUSED and one.began < by]
        promised = [one for one in setting if one.outcome == ACCEPTED and one.ended < by]
        for one in setting:
            if not any(one.happened_before(other.began) for other in promised):
                yield one

    def may_never_have_been(self, stack: str, by: float = math.inf) -> bool:
        return not any(one.outcome == ACCEPTED and one.sets_edition and one.ended < by for one in self.of(stack))

    def refused(self) -> set[str]:
        """Editions that can never be seen."""
        return {one.edition for one in self.operations if one.outcome == REFUSED and one.edition}

    def tally(self) -> dict[str, dict[str, int]]:
        asked = Counter(one.kind for one in self.operations)
        found = {"asked": dict(asked)}
        for outcome in (ACCEPTED, REFUSED, UNKNOWN):
            found[outcome] = dict(Counter(one.kind for one in self.operations if one.outcome == outcome))
        return found
