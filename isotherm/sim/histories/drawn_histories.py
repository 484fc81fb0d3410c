"""Histories drawn from a seed: requests of random clients, with faults at random rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from isotherm.sim.histories import drawn_shapes, shapes
from isotherm.sim.histories.history import LEVELS, STACK, History, Request, Verb, Watched
from isotherm.sim.histories.shapes import NAMES, Part, Shape, feasible, sound
from isotherm.sim.world.cloud import NAMED

# Probability of each fault at each hook, before it is multiplied by the roughness of the history.
RATES: Mapping[str, float] = {
    "kill": 0.02, "pause": 0.012, "commit fails": 0.03, "commit unheard": 0.03, "commit retried": 0.05,
    "read fails": 0.03, "cloud busy": 0.08, "cloud refuses": 0.04, "build fails": 0.05, "answer slow": 0.10,
    "answer lost, try again": 0.06, "answer lost, error": 0.04, "wake lost": 0.25, "wake late": 0.25, "wake doubled": 0.1,
    "drift": 0.06, "look slow": 0.15,
}
# Faults of drifting and watched histories only.
_SELDOM = ("drift", "look slow")
# Share of the histories in which ... objects drift; observers are at work;
_DRIFTING = 0.2
_WATCHED = 0.125
# ... clients interrupt most operations;
_INTERRUPTED = 0.1
# ... the last update replaces a resource and its dependants, and is undone;
_REVERTED = 0.1
# ... that undoing is interrupted;
_INTERRUPTED = 0.1
# ... some types have plain methods; cannot search for their objects;
_WITH_PLAIN = 0.15
_WITH_UNSEARCHABLE = 0.1
# ... some objects have ids that the client chooses; types have aliases whose meaning changes.
_NAMED = 0.15
# ... some types use the hooks of the contract that came later. Older seeds draw the histories that they always drew.
_HOOKED = 0.3
_HOOKED_FROM = 9_000_000
# ... clients protect stacks and resources; in histories of newer seeds still.
_PROTECTED = 0.5
PROTECTED_FROM = 9_500_000
# ... also where observers are at work.
WATCHED_PROTECTED_FROM = 60_000_000
# ... clients move resources to other names. Older seeds draw the histories that they always drew.
_MOVING = 0.3
MOVING_FROM = 10_000_000
# ... clients move resources from one stack to another.
_BETWEEN = 0.15
BETWEEN_FROM = 30_000_000
# ... some objects are called over HTTP; their service carries requests out after the client has gone.
_TABLED = 0.4
_ALIASED = 0.15
# ... updates are limited to some resources, and clients retry.
_LIMITED = 0.5
LIMITED_FROM = 20_000_000


def draw(seed: int) -> History:
    """Return the history of a seed."""
    random = Random(f"history/{seed}")
    rough = random.choice((0.0, 0.3, 1.0, 1.0, 2.0))
    rates = {fault: rate * rough for fault, rate in RATES.items() if fault not in _SELDOM and random.random() < 0.6}
    drawn = History(
        seed=seed, workers=random.choice((1, 1, 1, 2, 2, 3, 5)), requests=tuple(_requests(random, _verbs(seed))),
        rates=rates, concurrency=random.choice((1, 2, 8)), ends_with_delete=random.random() < 0.5, dice=seed,
    )
    drifts, watches, reverts, interrupts, names, aliases = (
        Random(f"{word}/{seed}") for word in ("drift", "watch", "regret", "interrupt", "names", "aliases"))
    drawn = _with_revert(reverts, drawn) if reverts.random() < _REVERTED else drawn
    drawn = _interrupted(interrupts, drawn) if interrupts.random() < _INTERRUPTED else drawn
    drawn = _aliased(aliases, drawn) if aliases.random() < _ALIASED else drawn
    named = names.random() < _NAMED
    drawn = _named(names, drawn) if named else drawn
    drawn = _drifting(drifts, drawn) if drifts.random() < _DRIFTING or (named and names.random() < 0.5) else drawn
    drawn = _watched(watches, drawn) if watches.random() < _WATCHED else drawn
    kinds = Random(f"kinds/{seed}")
    drawn = _of_kinds(kinds, drawn, shapes.PLAIN) if kinds.random() < _WITH_PLAIN else drawn
    lost = Random(f"lost/{seed}")
    drawn = _of_kinds(lost, drawn, lost.choice(shapes.UNSEARCHABLE)) if lost.random() < _WITH_UNSEARCHABLE else drawn
    hooks = Random(f"hooks/{seed}")
    if seed < _HOOKED_FROM:
        return drawn
    drawn = _hooked(hooks, drawn) if hooks.random() < _HOOKED else drawn
    tables = Random(f"tables/{seed}")
    drawn = _tabled(tables, drawn) if tables.random() < _TABLED else drawn
    protects = Random(f"protect/{seed}")
    drawn = protected(protects, drawn) if seed >= PROTECTED_FROM and protects.random() < _PROTECTED else drawn
    moves = Random(f"moves/{seed}")
    drawn = moving(moves, seed) if seed >= MOVING_FROM and moves.random() < _MOVING else drawn
    between = Random(f"between/{seed}")
    if seed >= BETWEEN_FROM and between.random() < _BETWEEN:
        return moving_between(between, seed)
    limits = Random(f"limits/{seed}")
    free = not any(one.moved for one in drawn.requests)
    return _limited(limits, drawn) if seed >= LIMITED_FROM and free and limits.random() < _LIMITED else drawn


def _limited(random: Random, drawn: History) -> History:
    """Limit some updates to targets, or let them leave resources out, and add retries.

    An export document has one template alone: so not where stacks are abandoned.
    """
    if any(one.verb is Verb.ABANDON for one in drawn.requests):
        return drawn
    requests: list[Request] = []
    known: dict[str, set[str]] = {}
    for one in drawn.requests:
        names = known.setdefault(one.stack, set())
        names |= one.shape.keys()
        requests.append(_limit(random, one, sorted(names)) if one.verb is Verb.UPDATE else one)
        if names and random.random() < 0.3:
            target = tuple(random.sample(sorted(names), 1)) if random.random() < 0.5 else ()
            at = one.at + random.choice((*_MOMENTS, 60.0)) * random.random()
            requests.append(Request(at, one.stack, Verb.RETRY, target=target))
    return replace(drawn, requests=tuple(sorted(requests, key=lambda request: request.at)))


def _limit(random: Random, update: Request, names: list[str]) -> Request:
    """Limit an update. A name that its template does not have is that of a resource to delete, or to keep."""
    if random.random() < 0.4 or not names:
        return update
    chosen = tuple(random.sample(names, min(len(names), random.choice((1, 1, 2)))))
    return replace(update, target=chosen) if random.random() < 0.6 else replace(update, exclude=chosen)


def protected(random: Random, drawn: History) -> History:
    """Let clients protect and unprotect stacks and resources at random times.

    Where observers repair, only in histories of newer seeds.
    """
    if drawn.watched.observers and drawn.seed < WATCHED_PROTECTED_FROM:
        return drawn
    end = drawn.requests[-1].at + random.choice((5.0, 50.0))
    requests = list(drawn.requests)
    for stack in sorted({one.stack for one in drawn.requests}):
        for _ in range(random.choice((1, 2, 4, 8))):
            verb = random.choice((Verb.PROTECT, Verb.PROTECT, Verb.UNPROTECT))
            word = random.choice((*LEVELS, "delete", STACK))
            requests.append(Request(random.uniform(0.0, end), stack, verb, word=word))
    return replace(drawn, requests=tuple(sorted(requests, key=lambda request: request.at)))


def moving(random: Random, seed: int) -> History:
    """Draw a history whose updates move resources to other names; some fail and are rolled back, some are interrupted."""
    rates = {fault: rate * random.choice((0.0, 0.5, 1.0)) for fault, rate in RATES.items() if fault not in _SELDOM}
    before = drawn_shapes.random_shape(random, random.randint(1, 4), failures=False)
    at, requests = 0.0, [Request(0.0, "s0", Verb.CREATE, before)]
    for _ in range(random.randint(1, 5)):
        at += random.choice((0.5, 20.0, 150.0, 300.0)) * random.random()
        after, moves = drawn_shapes.moved(random, before)
        if random.random() < 0.4:
            after = drawn_shapes.changed(random, after, failures=random.random() < 0.5)
        fails = random.random() < 0.3
        if fails:
            top = {"z": Part(after=tuple(sorted(shapes.living(after))), fail=random.choice(("create", "build")))}
        requests.append(Request(at, "s0", Verb.UPDATE, {**after, **top} if fails else after,
                                rollback=random.random() < 0.6, moved=moves))
        if random.random() < 0.3:
            verb = random.choice((Verb.ROLLBACK, Verb.CANCEL, Verb.UPDATE, Verb.CHECK, Verb.DELETE))
            requests.append(Request(at + 60.0 * random.random(), "s0", verb, before if verb is Verb.UPDATE else {}))
        # What a failed update leaves is not known here: a move from the other shape may be refused.
        before = before if fails and random.random() < 0.5 else after
    return History(seed=seed, workers=random.choice((1, 1, 2, 3)), requests=tuple(sorted(requests, key=lambda one: one.at)),
                   rates=rates, concurrency=random.choice((1, 2, 8)), ends_with_delete=random.random() < 0.5, dice=seed)


def moving_between(random: Random, seed: int) -> History:
    """Draw a history with two stacks between which resources move, while other requests change and delete them."""
    rough = random.choice((0.0, 0.3, 1.0))
    rates = {fault: rate * rough for fault, rate in RATES.items() if fault not in _SELDOM and random.random() < 0.6}
    known: dict[str, Shape] = {}
    for stack, names in (("s0", "mno"), ("s1", "pq")):
        others = drawn_shapes.random_shape(random, random.randint(1, 3), failures=False)
        known[stack] = {**others, **_free_parts(random, names)}
    requests = [Request(0.0, stack, Verb.CREATE, shape) for stack, shape in known.items()]
    at = random.choice((100.0, 200.0, 400.0))
    for _ in range(random.randint(2, 7)):
        stack, to = random.sample(sorted(known), 2)
        chance = random.random()
        if chance < 0.2:
            known[stack] = drawn_shapes.changed(random, known[stack], failures=random.random() < 0.3)
            requests.append(Request(at, stack, Verb.UPDATE, known[stack], rollback=random.random() < 0.6))
        elif chance < 0.35:
            verb = random.choice((Verb.ROLLBACK, Verb.CHECK, Verb.CHECK, Verb.SUSPEND, Verb.RESUME, Verb.DELETE))
            requests.append(Request(at, stack, verb))
        else:
            known, move = _moved_between(random, known, stack, to)
            requests.append(replace(move, at=at))
        at += random.choice((0.0, 2.0, 100.0, 300.0)) * random.random()
    return History(seed=seed, workers=random.choice((1, 1, 2, 3)), requests=tuple(sorted(requests, key=lambda one: one.at)),
                   rates=rates, concurrency=random.choice((1, 2, 8)), ends_with_delete=random.random() < 0.5, dice=seed)


def _free_parts(random: Random, names: str) -> dict[str, Part]:
    """Draw parts that refer to nothing, and to which nothing refers."""
    return {name: Part(a=f"v{random.randrange(4)}", fixed=random.choice(("", "x")), retain=random.random() < 0.1)
            for name in names}


def _moved_between(
    random: Random, known: Mapping[str, Shape], stack: str, to: str
) -> tuple[dict[str, Shape], Request]:
    """Return the shapes after a move and its request. Whether it will be refused is not known here."""
    free = [name for name in known[stack] if name in "mnopq"]
    name = random.choice(free if free and random.random() < 0.9 else sorted(known[stack]) or ["a"])
    new_name = name if random.random() < 0.5 else random.choice("mnopq")
    shapes_of = dict(known)
    if name in known[stack] and new_name not in known[to]:
        shapes_of |= {stack: shapes.drop(known[stack], [name]),
                      to: {**known[to], new_name: known[stack][name].without(known[stack])}}
    return shapes_of, Request(0.0, stack, Verb.MOVE, resource=name, word=f"{to}/{new_name}")


def _hooked(random: Random, drawn: History) -> History:
    """Use types with hooks for some resources; more objects fail, and more resources come after others."""
    for kinds in random.sample(shapes.HOOKED, 2):
        drawn = _of_kinds(random, drawn, kinds)
    requests = (replace(one, shape=drawn_shapes.followed(random, one.shape)) for one in drawn.requests)
    rates = {**drawn.rates, **({"build fails": 0.25, "cloud refuses": 0.1} if random.random() < 0.7 else {})}
    return replace(drawn, requests=tuple(requests), rates=rates)


def _tabled(random: Random, drawn: History) -> History:
    """Use the table type for some resources; requests are late, and lists lack the newest objects."""
    rates = {**drawn.rates, "request late": random.choice((0.02, 0.1, 0.3)), "list late": random.choice((0.0, 0.2))}
    return replace(_of_kinds(random, drawn, shapes.TABLED), rates=rates)


def _of_kinds(random: Random, drawn: History, kinds: Mapping[str, str]) -> History:
    """Change the types of some resources, by name, so that the type of a resource is the same in all requests."""
    names = {name for name in NAMES if random.random() < 0.6}
    requests = (replace(one, shape=shapes.of_kinds(one.shape, names, kinds)) for one in drawn.requests)
    return replace(drawn, requests=tuple(requests))


def _with_revert(random: Random, drawn: History) -> History:
    """Add an update at the end that is undone: by a failure, by a client, or by both."""
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
    """Give some objects ids that the client chooses; some of them are deleted and made again."""
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
    """Return updates that replace a resource and want the old one back too early: it gets the id that it had."""
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
    """Return requests by which an object is lost and made again under its id, at times interrupted by a delete."""
    requests = [Request(last.at, last.stack, Verb.VANISH if random.random() < 0.5 else Verb.DRIFT)]
    if random.random() < 0.3:
        requests.append(Request(last.at + 0.1, last.stack, Verb.CHECK))
    at = last.at + random.choice((0.2, 20.0, 60.0))
    requests.append(replace(last, at=at, verb=Verb.UPDATE, converge=random.random() < 0.8, timeout_s=3600.0))
    if random.random() < 0.5:
        at += random.uniform(0.0, 30.0)
        requests.append(Request(at, last.stack, random.choice((Verb.DELETE, Verb.DELETE, Verb.SUSPEND))))
    return requests


def _aliased(random: Random, drawn: History) -> History:
    """Name types by aliases, whose meaning changes between requests."""
    names = {name for name in NAMES + "npqrz" if random.random() < 0.6}
    requests = (replace(one, shape=sound(drawn_shapes.aliased(random, one.shape, names))) for one in drawn.requests)
    return replace(drawn, requests=tuple(requests))


def _interrupted(random: Random, drawn: History) -> History:
    """Add a rollback at the end that other requests interrupt, and a last request to go back."""
    stack, at = drawn.requests[-1].stack, drawn.requests[-1].at + random.choice((0.0, 60.0, 200.0))
    before = drawn_shapes.tower(random)
    # Mostly the update fails with everything replaced: then a rollback has something to undo, whenever it comes.
    after = random.choice((drawn_shapes.undermined, drawn_shapes.overloaded, drawn_shapes.overloaded))(random, before)
    changes = at + random.choice((30.0, 100.0, 200.0))
    turns = changes + random.choice((20.0, 60.0, 150.0)) * random.random()
    added = [Request(at, stack, Verb.UPDATE, before),
             Request(changes, stack, Verb.UPDATE, after, rollback=random.random() < 0.3),
             _back(random, turns, stack, before)]
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        turns += random.choice(_MOMENTS) * random.random()
        verb = random.choice(_ROLLBACK_INTERRUPTIONS)
        shape = (
            random.choice((before, before, after, drawn_shapes.undermined(random, before))) if verb is Verb.UPDATE else {}
        )
        name = random.choice(sorted(before)) if verb is Verb.CONVERGE_ONE else ""
        added.append(Request(turns, stack, verb, shape, resource=name))
    added.append(_back(random, turns + random.choice((*_MOMENTS, 100.0)) * random.random(), stack, before))
    return replace(drawn, requests=(*drawn.requests, *added))


def _back(random: Random, at: float, stack: str, shape: Shape) -> Request:
    verb = random.choice((Verb.ROLLBACK, Verb.ROLLBACK, Verb.CANCEL, Verb.UPDATE))
    return Request(at, stack, verb, shape if verb is Verb.UPDATE else {})


def _drifting(random: Random, drawn: History) -> History:
    """Let objects drift, and let updates observe reality."""
    requests = [replace(one, converge=one.verb is Verb.UPDATE and random.random() < 0.6) for one in drawn.requests]
    last = {one.stack: one for one in requests if one.verb in (Verb.CREATE, Verb.UPDATE)}
    for stack, one in last.items():
        # The shape stays: reality is to be brought back to it.
        at = drawn.requests[-1].at + random.choice((0.0, 5.0, 200.0)) * random.random()
        requests.append(replace(one, at=at, stack=stack, verb=Verb.UPDATE, converge=True, timeout_s=3600.0))
    rate = RATES["drift"] * random.choice((0.5, 1.0, 2.0))
    return replace(drawn, requests=tuple(sorted(requests, key=lambda request: request.at)),
                   rates={**drawn.rates, "drift": rate})


def _watched(random: Random, drawn: History) -> History:
    """Let objects drift, with observers at work."""
    policies = {name: random.choice(_POLICIES) for name in NAMES if random.random() < 0.08}
    # Mostly few requests, without failures: so there is something to repair.
    easy = random.random() < 0.7
    requests = [replace(one, shape=_with_policies(feasible(one.shape) if easy else one.shape, policies))
                for one in drawn.requests]
    if easy:
        requests = [one for one in requests if one.verb in (Verb.CREATE, Verb.UPDATE, Verb.CHECK)][:3]
    end = requests[-1].at + random.choice((80.0, 120.0, 200.0))
    stacks = {one.stack: one.shape for one in reversed(requests) if one.shape}
    for stack, shape in sorted(stacks.items()):
        begin = min(one.at for one in requests if one.stack == stack)
        requests += _watch_requests(random, stack, shape, begin, end)
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


def _with_policies(shape: Shape, policies: Mapping[str, str]) -> Shape:
    """Return the shape with drift policies in the metadata of the named resources."""
    return {name: replace(part, drift=policies[name]) if name in policies and part.inner is None else part
            for name, part in shape.items()}


def _watch_requests(random: Random, stack: str, shape: Shape, begin: float, end: float) -> list[Request]:
    """Return requests that set policies and ask for observations, and drifts of the stack."""

    def some(verb: Verb, chance: float, resource: str = "", word: str = "") -> list[Request]:
        at = random.uniform(begin, end)
        return [Request(at, stack, verb, resource=resource, word=word)] if random.random() < chance else []

    def one() -> str:
        return random.choice(sorted(shape)) if shape else "a"

    policy = random.choice(("repair", "repair", "repair", "repair", "repair", *_POLICIES, ""))
    found = [Request(begin + 2.0 * random.random(), stack, Verb.WATCH, word=policy)] if policy else []
    for _ in range(random.choice((2, 2, 3, 4))):
        found.append(Request(random.uniform(begin + 30.0, end), stack, Verb.DRIFT))
    found += some(Verb.OVERRIDE, 0.3, resource=one(), word=random.choice(_POLICIES))
    found += some(Verb.WATCH, 0.2, word=random.choice(_POLICIES))
    found += some(Verb.HINT, 0.2, resource=random.choice((one(), ""))) + some(Verb.OBSERVE, 0.5) + some(Verb.OBSERVE, 0.5)
    found += some(Verb.CONVERGE_ONE, 0.25, resource=one())
    if random.random() < 0.12:
        # After a check, the stack's action does not say any more that it is suspended.
        at = random.uniform(begin, end)
        found += [Request(at, stack, Verb.SUSPEND), Request(at + random.uniform(10.0, 40.0), stack, Verb.CHECK)]
        found += [Request(at + 120.0, stack, Verb.RESUME)] if random.random() < 0.7 else []
    if random.random() < 0.1:
        # The mode changes while an observation is under way that may lead to a repair.
        at = random.uniform(begin + 30.0, end)
        found += [Request(at, stack, Verb.DRIFT), Request(at + 0.1, stack, Verb.OBSERVE)]
        found.append(Request(at + random.uniform(0.2, 3.0), stack, Verb.WATCH, word=random.choice(_STOPPED)))
    return found + (_for_a_while(random, Request(0.0, stack, Verb.WATCH), end) if random.random() < 0.2 else [])


def _for_a_while(random: Random, what: Request, end: float) -> list[Request]:
    """Return requests that stop the observers or their repairs, mostly for some time only."""
    at, word = random.uniform(0.0, end), random.choice(_STOPPED)
    found = [replace(what, at=at, word=word)]
    if random.random() < 0.7:
        found.append(replace(what, at=at + random.uniform(20.0, 150.0), word="active"))
    return found


_POLICIES = ("repair", "report", "ignore")
_STOPPED = ("paused", "maintenance")


def _verbs(seed: int) -> Mapping[Verb, int]:
    return _VERBS | _INTERRUPTIONS if Random(f"restless/{seed}").random() < _INTERRUPTED else _VERBS


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
    # Snapshots, resumes and adoptions need an operation that has ended.
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
            # Back to an earlier shape, or on to a new one.
            shape = (
                random.choice(earlier) if random.random() < 0.25 else drawn_shapes.changed(random, shape, failures=failures)
            )
            earlier.append(shape)
        requests.append(_request(random, at, stack, verb, shape if verb in (Verb.UPDATE, Verb.CREATE) else {}))
    return requests


# Weights of the verbs that only some histories have.
_CANCELS = {Verb.CANCEL: 12, Verb.CANCEL_STAY: 25}
_VISITS = {Verb.SUSPEND: 40, Verb.RESUME: 40}
_LIVES = {
    "visits": _VISITS, "snapshots": {Verb.SNAPSHOT: 50, Verb.RESTORE: 40, Verb.DELETE_SNAPSHOT: 10},
    "signals": {Verb.SIGNAL: 80, Verb.CANCEL_STAY: 10},
    "moves": {Verb.ABANDON: 30, Verb.ADOPT: 50}, "all": {**_VISITS, Verb.SNAPSHOT: 30, Verb.RESTORE: 30},
}
_PATIENT = {Verb.SNAPSHOT, Verb.RESUME, Verb.ADOPT}
_VERBS = {
    Verb.UPDATE: 60, Verb.DELETE: 6, Verb.ROLLBACK: 6, Verb.CANCEL: 5, Verb.CANCEL_STAY: 5, Verb.CHECK: 6, Verb.READ: 6,
    Verb.CREATE: 3, Verb.VANISH: 5,
}
# Seconds until the next interruption; mostly too few for more than a plan.
_MOMENTS = (0.05, 0.1, 0.1, 0.2, 0.5, 5.0, 20.0)
# Verbs that may interrupt a rollback.
_ROLLBACK_INTERRUPTIONS = (
    Verb.UPDATE, Verb.UPDATE, Verb.UPDATE, Verb.ROLLBACK, Verb.ROLLBACK, Verb.CANCEL, Verb.CANCEL_STAY, Verb.DELETE,
    Verb.CHECK, Verb.SUSPEND, Verb.RESUME, Verb.SNAPSHOT, Verb.RESTORE, Verb.CONVERGE_ONE, Verb.OBSERVE,
)
_INTERRUPTIONS = {
    Verb.DELETE: 15, Verb.ROLLBACK: 15, Verb.CANCEL: 12, Verb.CANCEL_STAY: 12, Verb.CHECK: 25, Verb.VANISH: 12,
    Verb.SUSPEND: 15, Verb.RESUME: 20, Verb.SNAPSHOT: 8, Verb.RESTORE: 8,
}


def _request(random: Random, at: float, stack: str, verb: Verb, shape: Shape) -> Request:
    timeout = random.uniform(2.0, 50.0) if random.random() < 0.2 else 3600.0
    return Request(at, stack, verb, shape, rollback=random.random() < 0.5, timeout_s=timeout)
