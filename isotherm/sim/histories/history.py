"""A history: the requests of the clients and the rates of the faults. Drawn from a seed, or shrunk from another history.

A history is plain data, so that the shrinker can leave out requests, resources and faults and run the remainder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from isotherm.sim.histories.shapes import Shape


class Verb(Enum):
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    ROLLBACK = "rollback"
    CANCEL = "cancel"
    CANCEL_STAY = "cancel without rollback"
    CHECK = "check"
    READ = "read"
    SUSPEND = "suspend"
    RESUME = "resume"
    SNAPSHOT = "snapshot"
    RESTORE = "restore"
    RETRY = "retry"
    DELETE_SNAPSHOT = "delete a snapshot of"
    SIGNAL = "signal all that waits in"
    ABANDON = "abandon"
    ADOPT = "adopt"
    # Set how stacks are watched, and ask the observers for something.
    WATCH = "watch"
    OVERRIDE = "watch one resource of"
    PROJECT = "watch the project of"
    HINT = "hint at"
    OBSERVE = "observe"
    CONVERGE_ONE = "converge one resource of"
    # Protect the stack or one of its resources, or lift that protection.
    PROTECT = "protect something of"
    UNPROTECT = "unprotect something of"
    # Move the resource `resource` to another stack; `word` is that stack and the name there, as s1/b.
    MOVE = "move a resource of"
    # Not requests, but changes behind the engine's back: an object is removed; one is changed or removed.
    VANISH = "vanish"
    DRIFT = "stir"


# The word of a request to protect, or not to protect, the stack itself; and those for its resources.
STACK = "stack"
LEVELS = ("replace", "delete", "all")


@dataclass(frozen=True, slots=True)
class Request:
    """One request of one client."""

    at: float
    stack: str
    verb: Verb
    shape: Shape = field(default_factory=dict)
    rollback: bool = False
    timeout_s: float = 3600.0
    # Whether an update observes reality.
    converge: bool = False
    # The resource that the request is about, and the policy or mode that it sets.
    resource: str = ""
    word: str = ""
    # The resources that an update or a retry is limited to, and those that it leaves out.
    target: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    # Resources that an update moves, old name to new name.
    moved: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        options = (("converge", self.converge), ("rollback", self.rollback),
                   (f"timeout {self.timeout_s:.0f}", self.timeout_s < 3600))
        flags = [word for word, on in options if on and self.verb in (Verb.CREATE, Verb.UPDATE)]
        flags += [word for word in (self.resource, self.word) if word]
        flags += [f"{word} {' '.join(names)}" for word, names in (("only", self.target), ("not", self.exclude)) if names]
        flags += [f"{old} moves to {new}" for old, new in self.moved.items()]
        return f"{self.verb.value} {self.stack}" + (f" ({', '.join(flags)})" if flags else "")


@dataclass(frozen=True, slots=True)
class Watched:
    """Number and settings of the observers."""

    observers: int = 0
    interval_s: float = 60.0
    # Calls per second (0: no limit), and resources per call.
    rate: float = 0.0
    batch: int = 500
    policy: str = "report"
    # Repairs of one resource before it is given up.
    limit: int = 3
    # The stack and resource that an adversary changes back again and again.
    fight: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class History:
    """Everything that a run depends on."""

    seed: int
    workers: int
    requests: tuple[Request, ...]
    rates: Mapping[str, float]
    # Numbers of faults that are left out (see Chance).
    muted: frozenset[int] = frozenset()
    concurrency: int = 4
    ends_with_delete: bool = False
    # Seed of the run; it may differ from the seed that drew the history.
    dice: int = 0
    watched: Watched = Watched()
