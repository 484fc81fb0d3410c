"""The users' own record of their requests and the answers, and of the states that may therefore be true.

An answer of 2xx is a promise, one of 4xx is a refusal, and everything else (no answer, 5xx) leaves it open whether the
operation was accepted, and when. The possible states of a stack follow from that alone: an operation may be the newest one
unless another one was promised whose request was sent after the first one's answer.
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
# After this long no API still works on a request that was never answered.
LATE_S = 90.0


@dataclass(slots=True)
class Operation:
    """A requested operation. Times are those of the users' clock."""

    number: int
    stack: str
    kind: str
    began: float
    edition: str = ""
    # Whether a failure of it leads back to an older edition.
    rolls_back: bool = False
    outcome: str = UNKNOWN
    ended: float = math.inf
    # The API that got the request, and the number of its start.
    via: str = ""
    life: int = 0
    said: str = ""

    @property
    def sets_edition(self) -> bool:
        """Return whether it changes the desired state of the stack."""
        return self.kind in (CREATE, UPDATE, DELETE, CANCEL)

    def happened_before(self, moment: float) -> bool:
        return self.ended < moment


class Book:
    """All operations of a run, and the shape of each edition of a stack."""

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
        """Return whether a request without an answer may still be under way in a live API."""
        return any(one.outcome == UNKNOWN and one.began > now - LATE_S and lives[one.via] == one.life
                   for one in self.of(stack))

    def newest(self, stack: str, by: float = math.inf) -> Iterator[Operation]:
        """Yield the operations that may be the newest that changes the desired state, for a read at that time."""
        setting = [one for one in self.of(stack) if one.sets_edition and one.outcome != REFUSED and one.began < by]
        promised = [one for one in setting if one.outcome == ACCEPTED and one.ended < by]
        for one in setting:
            if not any(one.happened_before(other.began) for other in promised):
                yield one

    def may_never_have_been(self, stack: str, by: float = math.inf) -> bool:
        return not any(one.outcome == ACCEPTED and one.sets_edition and one.ended < by for one in self.of(stack))

    def refused(self) -> set[str]:
        """Return the editions that must never be seen."""
        return {one.edition for one in self.operations if one.outcome == REFUSED and one.edition}

    def tally(self) -> dict[str, dict[str, int]]:
        asked = Counter(one.kind for one in self.operations)
        found = {"asked": dict(asked)}
        for outcome in (ACCEPTED, REFUSED, UNKNOWN):
            found[outcome] = dict(Counter(one.kind for one in self.operations if one.outcome == outcome))
        return found
