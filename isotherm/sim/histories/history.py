"""A history: what clients do and when, and how rough the world is. Drawn from a seed, or shrunk from another history.

It is plain data, so that it can be taken apart: the shrinker leaves out requests, resources and faults, and what remains
is run again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from random import Random

from isotherm.sim.histories import drawn_shapes, shapes
from isotherm.sim.histories.shapes import NAMES, Shape, feasible, sound
from isotherm.sim.world.cloud import NAMED


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
    FORGET = "delete a snapshot of"
    SIGNAL = "signal all that waits in"
    ABANDON = "abandon"
    ADOPT = "adopt"
    # How a stack is watched; and what else can be said to whoever watches it.
    WATCH = "watch"
    OVERRIDE = "watch one resource of"
    PROJECT = "watch the project of"
    HINT = "hint at"
    OBSERVE = "observe"
    MEND = "converge one resource of"
    # Not a client's: an object disappears from the cloud; one changes, or disappears.
    VANISH = "vanish"
    STIR = "stir"


@dataclass(frozen=True, slots=True)
class Request:
    """What one client does at one moment."""

    at: float
    stack: str
    verb: Verb
    shape: Shape = field(default_factory=dict)
    rollback: bool = False
    timeout_s: float = 3600.0
    # Whether an update looks at reality before it decides.
    converge: bool = False
    # One resource; and how it is to be watched, or the whole stack: a policy or a mode.
    resource: str = ""
    word: str = ""

    def __str__(self) -> str:
        said = (("converge", self.converge), ("rollback", self.rollback),
                (f"timeout {self.timeout_s:.0f}", self.timeout_s < 3600))
        flags = [word for word, on in said if on and self.verb in (Verb.CREATE, Verb.UPDATE)]
        flags += [word for word in (self.resource, self.word) if word]
        return f"{self.verb.value} {self.stack}" + (f" ({', '.join(flags)})" if flags else "")


@dataclass(frozen=True, slots=True)
class Watched:
    """How stacks are watched in a history, and by how many."""

    observers: int = 0
    interval_s: float = 60.0
    # Calls in a second, 0: any number; and how many resources are looked at in one go.
    rate: float = 0.0
    batch: int = 500
    policy: str = "report"
    # How often one is repaired before it is given up.
    limit: int = 3
    # Somebody undoes whatever is done to this resource of this stack.
    fight: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class History:
    """All that a run depends on."""

    seed: int
    workers: int
    requests: tuple[Request, ...]
    rates: Mapping[str, float]
    # Numbers of faults that are left out (see Chance).
    muted: frozenset[int] = frozenset()
    concurrency: int = 4
    ends_with_delete: bool = False
    # The dice of a run may differ from those that drew the history.
    dice: int = 0
    watched: Watched = Watched()


# How often each fault strikes, at each chance it gets, in a world as rough as it gets.
RATES: Mapping[str, float] = {
    "kill": 0.02, "pause": 0.012, "commit fails": 0.03, "commit unheard": 0.03, "commit retried": 0.05,
    "read fails": 0.03, "cloud busy": 0.08, "cloud refuses": 0.04, "build fails": 0.05, "answer slow": 0.10,
    "answer lost, try again": 0.06, "answer lost, error": 0.04, "wake lost": 0.25, "wake late": 0.25, "wake doubled": 0.1,
    "drift": 0.06, "look slow": 0.15,
}
# What happens only in some histories.
_SELDOM = ("drift", "look slow")
# How many histories are of a world that changes by itself, and in how many it is watched.
_DRIFTING = 0.2
_WATCHED = 0.125
# In how many clients hardly ever let anything run its course.
_RESTLESS = 0.1
# In how many something is exchanged in the end, with all that stands on it, and is wanted back.
_REGRETTED = 0.1
# In how many that way back is interrupted.
_INTERRUPTED = 0.1
# In how many some types have plain methods.
_WITH_PLAIN = 0.15
# In how many some types cannot search for the objects that they have made.
_WITH_UNSEARCHABLE = 0.1
# In how many some objects have ids that the client chooses, and in how many types have names that may change their meaning.
_NAMED = 0.15
_ALIASED = 0.15


def draw(seed: int) -> History:
    """The history of a seed."""
    random = Random(f"history/{seed}")
    rough = random.choice((0.0, 0.3, 1.0, 1.0, 2.0))
    rates = {fault: rate * rough for fault, rate in RATES.items() if fault not in _SELDOM and random.random() < 0.6}
    drawn = History(
        seed=seed, workers=random.choice((1, 1, 1, 2, 2, 3, 5)), requests=tuple(_requests(random, _verbs(seed))),
        rates=rates, concurrency=random.choice((1, 2, 8)), ends_with_delete=random.random() < 0.5, dice=seed,
    )
    drifts, watches, regrets, interrupts, names, aliases = (
        Random(f"{word}/{seed}") for word in ("drift", "watch", "regret", "interrupt", "names", "aliases"))
    drawn = _regretted(regrets, drawn) if regrets.random() < _REGRETTED else drawn
    drawn = _interrupted(interrupts, drawn) if interrupts.random() < _INTERRUPTED else drawn
    drawn = _aliased(aliases, drawn) if aliases.random() < _ALIASED else drawn
    named = names.random() < _NAMED
    drawn = _named(names, drawn) if named else drawn
    drawn = _drifting(drifts, drawn) if drifts.random() < _DRIFTING or (named and names.random() < 0.5) else drawn
    drawn = _watched(watches, drawn) if watches.random() < _WATCHED else drawn
    kinds = Random(f"kinds/{seed}")
    drawn = _of_kinds(kinds, drawn, shapes.PLAIN) if kinds.random() < _WITH_PLAIN else drawn
    lost = Random(f"lost/{seed}")
    return _of_kinds(lost, drawn, lost.choice(shapes.UNSEARCHABLE)) if lost.random() < _WITH_UNSEARCHABLE else drawn


def _of_kinds(random: Random, drawn: History, kinds: Mapping[str, str]) -> History:
    """The same history, with other types of some resources: by name, so that a resource stays what it is."""
    names = {name for name in NAMES if random.random() < 0.6}
    requests = (replace(one, shape=shapes.of_kinds(one.shape, names, kinds)) for one in drawn.requests)
    return replace(drawn, requests=tuple(requests))


def _regretted(random: Random, drawn: History) -> History:
    """The same history, with a change of mind in the end: by a failure, by a client, or by both of them."""
    stack, at = drawn.requests[-1].stack, drawn.requests[-1].at + random.choice((0.0, 60.0, 200.0))
    before = drawn_shapes.tower(random)
    changes = at + random.choice((1.0, 30.0, 100.0))
    added = [Request(at, stack, Verb.UPDATE, before),
             Request(changes, stack, Verb.UPDATE, drawn_shapes.undermined(random, before), rollback=random.random() < 0.6)]
    if random.random() < 0.6:
        verb = random.choice((Verb.CANCEL, Verb.ROLLBACK, Verb.UPDATE))
        added.append(Request(changes + random.uniform(0.0, 25.0), stack, verb, before if verb is Verb.UPDATE else {}))
    return replace(drawn, requests=(*drawn.requests, *added))


def _named(random: Random, drawn: History) -> History:
    """The same history, where some objects have ids that the client chooses; some of them go, and are made again."""
    names = {name for name in NAMES + "nz" if random.random() < 0.6}
    requests = [replace(one, shape=drawn_shapes.named(one.shape, names)) for one in drawn.requests]
    last = {one.stack: one for one in requests if one.verb in (Verb.CREATE, Verb.UPDATE)}
    for one in last.values():
        end = drawn.requests[-1].at + random.choice((0.0, 60.0, 200.0))
        if random.random() < 0.5:
            requests += _back_and_forth(random, replace(one, at=end, shape=feasible(one.shape)))
        if random.random() < 0.6:
            requests += _made_again(random, replace(one, at=end + random.choice((0.0, 100.0))))
    return replace(drawn, requests=tuple(sorted(requests, key=lambda request: request.at)))


def _back_and_forth(random: Random, last: Request) -> list[Request]:
    """Something is exchanged, and wanted back before that is through: it gets the id that it had."""
    found = [name for name, part in last.shape.items() if part.kind == NAMED and not part.off]
    if not found:
        return []
    name = random.choice(found)
    other = {**last.shape, name: replace(last.shape[name], fixed="z")}
    requests, at = [], last.at
    for shape in (last.shape, other, last.shape, other, last.shape)[:random.choice((3, 3, 5))]:
        requests.append(Request(at, last.stack, Verb.UPDATE, shape))
        at += random.uniform(0.0, 60.0)
    return requests


def _made_again(random: Random, last: Request) -> list[Request]:
    """Something goes, and is made again under the id that it had; perhaps all of it is to go before that is through."""
    requests = [Request(last.at, last.stack, Verb.VANISH if random.random() < 0.5 else Verb.STIR)]
    if random.random() < 0.3:
        requests.append(Request(last.at + 0.1, last.stack, Verb.CHECK))
    at = last.at + random.choice((0.2, 20.0, 60.0))
    requests.append(replace(last, at=at, verb=Verb.UPDATE, converge=random.random() < 0.8, timeout_s=3600.0))
    if random.random() < 0.5:
        at += random.uniform(0.0, 30.0)
        requests.append(Request(at, last.stack, random.choice((Verb.DELETE, Verb.DELETE, Verb.SUSPEND))))
    return requests


def _aliased(random: Random, drawn: History) -> History:
    """The same history, where types go by other names, and what the names stand for changes between requests."""
    names = {name for name in NAMES + "npqrz" if random.random() < 0.6}
    requests = (replace(one, shape=sound(drawn_shapes.aliased(random, one.shape, names))) for one in drawn.requests)
    return replace(drawn, requests=tuple(requests))


def _interrupted(random: Random, drawn: History) -> History:
    """The same history, with a rollback in the end that others interrupt, and a way back all the same."""
    stack, at = drawn.requests[-1].stack, drawn.requests[-1].at + random.choice((0.0, 60.0, 200.0))
    before = drawn_shapes.tower(random)
    # Mostly it gets stuck with all that it has exchanged: then there is something to come back to, whenever that is.
    after = random.choice((drawn_shapes.undermined, drawn_shapes.overloaded, drawn_shapes.overloaded))(random, before)
    changes = at + random.choice((30.0, 100.0, 200.0))
    turns = changes + random.choice((20.0, 60.0, 150.0)) * random.random()
    added = [Request(at, stack, Verb.UPDATE, before),
             Request(changes, stack, Verb.UPDATE, after, rollback=random.random() < 0.3),
             _back(random, turns, stack, before)]
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        turns += random.choice(_MOMENTS) * random.random()
        verb = random.choice(_COMES_BETWEEN)
        shape = (
            random.choice((before, before, after, drawn_shapes.undermined(random, before))) if verb is Verb.UPDATE else {}
        )
        name = random.choice(sorted(before)) if verb is Verb.MEND else ""
        added.append(Request(turns, stack, verb, shape, resource=name))
    added.append(_back(random, turns + random.choice((*_MOMENTS, 100.0)) * random.random(), stack, before))
    return replace(drawn, requests=(*drawn.requests, *added))


def _back(random: Random, at: float, stack: str, shape: Shape) -> Request:
    verb = random.choice((Verb.ROLLBACK, Verb.ROLLBACK, Verb.CANCEL, Verb.UPDATE))
    return Request(at, stack, verb, shape if verb is Verb.UPDATE else {})


def _drifting(random: Random, drawn: History) -> History:
    """The same history in a world that changes by itself, with clients who know that it does."""
    requests = [replace(one, converge=one.verb is Verb.UPDATE and random.random() < 0.6) for one in drawn.requests]
    last = {one.stack: one for one in requests if one.verb in (Verb.CREATE, Verb.UPDATE)}
    for stack, one in last.items():
        # What is wanted stays as it is: reality is to be brought back to it.
        at = drawn.requests[-1].at + random.choice((0.0, 5.0, 200.0)) * random.random()
        requests.append(replace(one, at=at, stack=stack, verb=Verb.UPDATE, converge=True, timeout_s=3600.0))
    rate = RATES["drift"] * random.choice((0.5, 1.0, 2.0))
    return replace(drawn, requests=tuple(sorted(requests, key=lambda request: request.at)),
                   rates={**drawn.rates, "drift": rate})


def _watched(random: Random, drawn: History) -> History:
    """The same history in a world that changes by itself, under the eyes of observers."""
    said = {name: random.choice(_POLICIES) for name in NAMES if random.random() < 0.08}
    # Mostly clients want little, and nothing that cannot be had: so there is something to repair.
    easy = random.random() < 0.7
    requests = [replace(one, shape=_said_of(feasible(one.shape) if easy else one.shape, said)) for one in drawn.requests]
    if easy:
        requests = [one for one in requests if one.verb in (Verb.CREATE, Verb.UPDATE, Verb.CHECK)][:3]
    end = requests[-1].at + random.choice((80.0, 120.0, 200.0))
    stacks = {one.stack: one.shape for one in reversed(requests) if one.shape}
    for stack, shape in sorted(stacks.items()):
        begin = min(one.at for one in requests if one.stack == stack)
        requests += _words(random, stack, shape, begin, end)
    if random.random() < 0.15:
        requests += _for_a_while(random, Request(0.0, "s0", Verb.PROJECT), end)
    stack = random.choice(sorted(stacks))
    fights = random.random() < 0.25 and stacks[stack]
    watched = Watched(
        random.choice((1, 1, 2)), random.choice((30.0, 60.0)), random.choice((0.0, 0.5, 3.0)), random.choice((2, 500)),
        random.choice(("report", "report", "repair")), random.choice((2, 3)),
        (stack, random.choice(sorted(stacks[stack]))) if fights else None,
    )
    rates = {**drawn.rates, **({"drift": RATES["drift"] / 2} if random.random() < 0.3 else {}),
             **({"look slow": RATES["look slow"]} if random.random() < 0.5 else {}),
             **({"cloud refuses": 0.15, "answer lost, error": 0.1} if random.random() < 0.5 else {})}
    return replace(drawn, requests=tuple(sorted(requests, key=lambda one: one.at)), rates=rates, watched=watched,
                   workers=min(drawn.workers, 2))


def _said_of(shape: Shape, said: Mapping[str, str]) -> Shape:
    """The shape, with what is said of some of its resources in the template."""
    return {name: replace(part, drift=said[name]) if name in said and part.inner is None else part
            for name, part in shape.items()}


def _words(random: Random, stack: str, shape: Shape, begin: float, end: float) -> list[Request]:
    """What is said of how a stack is watched; and what happens to it."""

    def some(verb: Verb, chance: float, resource: str = "", word: str = "") -> list[Request]:
        at = random.uniform(begin, end)
        return [Request(at, stack, verb, resource=resource, word=word)] if random.random() < chance else []

    def one() -> str:
        return random.choice(sorted(shape)) if shape else "a"

    policy = random.choice(("repair", "repair", "repair", "repair", "repair", *_POLICIES, ""))
    found = [Request(begin + 2.0 * random.random(), stack, Verb.WATCH, word=policy)] if policy else []
    for _ in range(random.choice((2, 2, 3, 4))):
        found.append(Request(random.uniform(begin + 30.0, end), stack, Verb.STIR))
    found += some(Verb.OVERRIDE, 0.3, resource=one(), word=random.choice(_POLICIES))
    found += some(Verb.WATCH, 0.2, word=random.choice(_POLICIES))
    found += some(Verb.HINT, 0.2, resource=random.choice((one(), ""))) + some(Verb.OBSERVE, 0.5) + some(Verb.OBSERVE, 0.5)
    found += some(Verb.MEND, 0.25, resource=one())
    if random.random() < 0.12:
        # A check hides that all of it sleeps.
        at = random.uniform(begin, end)
        found += [Request(at, stack, Verb.SUSPEND), Request(at + random.uniform(10.0, 40.0), stack, Verb.CHECK)]
        found += [Request(at + 120.0, stack, Verb.RESUME)] if random.random() < 0.7 else []
    if random.random() < 0.1:
        # It is told to stop while it looks at what there is to repair.
        at = random.uniform(begin + 30.0, end)
        found += [Request(at, stack, Verb.STIR), Request(at + 0.1, stack, Verb.OBSERVE)]
        found.append(Request(at + random.uniform(0.2, 3.0), stack, Verb.WATCH, word=random.choice(_STOPPED)))
    return found + (_for_a_while(random, Request(0.0, stack, Verb.WATCH), end) if random.random() < 0.2 else [])


def _for_a_while(random: Random, what: Request, end: float) -> list[Request]:
    """Nobody looks, or nothing is repaired; mostly not for ever."""
    at, word = random.uniform(0.0, end), random.choice(_STOPPED)
    found = [replace(what, at=at, word=word)]
    if random.random() < 0.7:
        found.append(replace(what, at=at + random.uniform(20.0, 150.0), word="active"))
    return found


_POLICIES = ("repair", "report", "ignore")
_STOPPED = ("paused", "maintenance")


def _verbs(seed: int) -> Mapping[Verb, int]:
    return _VERBS | _INTERRUPTIONS if Random(f"restless/{seed}").random() < _RESTLESS else _VERBS


def _requests(random: Random, verbs: Mapping[Verb, int]) -> list[Request]:
    requests: list[Request] = []
    vanishing = random.random() < 0.1
    nested = random.random() < 0.15
    life = _LIVES[random.choice(sorted(_LIVES))] if random.random() < 0.25 else {}
    if nested:
        life = {verb: often for verb, often in life.items() if verb in _VISITS} | _CANCELS
    for stack in range(1 if nested else random.choice((1, 1, 1, 2))):
        requests += _of_stack(random, f"s{stack}", random.randint(1, 3 if nested else 5), vanishing, nested,
                              {**verbs, **life})
    return sorted(requests, key=lambda request: request.at)


def _of_stack(
    random: Random, stack: str, count: int, vanishing: bool, nested: bool, verbs: Mapping[Verb, int]
) -> list[Request]:
    at = random.uniform(0.0, 2.0)
    failures = random.random() < 0.5
    # Most of what else clients do takes something that is through.
    patient = random.random() < (0.6 if _PATIENT & verbs.keys() else 0.3)
    if nested:
        shape = drawn_shapes.random_tree(random, failures=failures)
    else:
        shape = drawn_shapes.random_shape(random, random.randint(1, 5), failures=failures)
    if Verb.SIGNAL in verbs:
        shape = drawn_shapes.gated(random, shape)
    requests = [_request(random, at, stack, Verb.CREATE, shape)]
    earlier = [shape]
    for _ in range(count):
        at += random.uniform(60.0, 200.0) if patient else random.choice((0.0, 0.05, 1.0, 5.0, 20.0, 60.0)) * random.random()
        verb = random.choices(list(verbs), list(verbs.values()))[0]
        if verb is Verb.VANISH and not vanishing:
            verb = Verb.UPDATE
        if verb is Verb.UPDATE:
            # Back to where it once was, or on.
            shape = (
                random.choice(earlier) if random.random() < 0.25 else drawn_shapes.changed(random, shape, failures=failures)
            )
            earlier.append(shape)
        requests.append(_request(random, at, stack, verb, shape if verb in (Verb.UPDATE, Verb.CREATE) else {}))
    return requests


# What else clients do in some histories.
_CANCELS = {Verb.CANCEL: 12, Verb.CANCEL_STAY: 25}
_VISITS = {Verb.SUSPEND: 40, Verb.RESUME: 40}
_LIVES = {
    "visits": _VISITS, "snapshots": {Verb.SNAPSHOT: 50, Verb.RESTORE: 40, Verb.FORGET: 10},
    "signals": {Verb.SIGNAL: 80, Verb.CANCEL_STAY: 10},
    "moves": {Verb.ABANDON: 30, Verb.ADOPT: 50}, "all": {**_VISITS, Verb.SNAPSHOT: 30, Verb.RESTORE: 30},
}
_PATIENT = {Verb.SNAPSHOT, Verb.RESUME, Verb.ADOPT}
_VERBS = {
    Verb.UPDATE: 60, Verb.DELETE: 6, Verb.ROLLBACK: 6, Verb.CANCEL: 5, Verb.CANCEL_STAY: 5, Verb.CHECK: 6, Verb.READ: 6,
    Verb.CREATE: 3, Verb.VANISH: 5,
}
# How soon: mostly before more than a plan has been made.
_MOMENTS = (0.05, 0.1, 0.1, 0.2, 0.5, 5.0, 20.0)
# What may come in between when a stack goes back to what it was.
_COMES_BETWEEN = (
    Verb.UPDATE, Verb.UPDATE, Verb.UPDATE, Verb.ROLLBACK, Verb.ROLLBACK, Verb.CANCEL, Verb.CANCEL_STAY, Verb.DELETE,
    Verb.CHECK, Verb.SUSPEND, Verb.RESUME, Verb.SNAPSHOT, Verb.RESTORE, Verb.MEND, Verb.OBSERVE,
)
_INTERRUPTIONS = {
    Verb.DELETE: 15, Verb.ROLLBACK: 15, Verb.CANCEL: 12, Verb.CANCEL_STAY: 12, Verb.CHECK: 25, Verb.VANISH: 12,
    Verb.SUSPEND: 15, Verb.RESUME: 20, Verb.SNAPSHOT: 8, Verb.RESTORE: 8,
}


def _request(random: Random, at: float, stack: str, verb: Verb, shape: Shape) -> Request:
    timeout = random.uniform(2.0, 50.0) if random.random() < 0.2 else 3600.0
    return Request(at, stack, verb, shape, rollback=random.random() < 0.5, timeout_s=timeout)
