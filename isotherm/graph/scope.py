"""The resources that an update is limited to. Pure: names and their requirements, before and after the update.

A target is changed with everything that it needs. A target that the template no longer has is deleted, after everything
that uses it. An excluded resource is left as it is, with everything that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from isotherm import errors

Requirements = Mapping[str, Collection[str]]


def left_out(
    before: Requirements, after: Requirements, target: Collection[str], exclude: Collection[str]
) -> frozenset[str]:
    """Return the names that the update leaves out. Raises UserError for unknown names, and where the two contradict."""
    names = before.keys() | after.keys()
    _refuse_unknown(names, (*target, *exclude))
    excluded = _excluded(before, after, exclude)
    if not target:
        return frozenset(excluded)
    chosen = _targeted(before, after, target)
    if both := sorted(chosen & excluded):
        raise errors.UserError(f"{both[0]} is excluded, or needs what is excluded, and the targets need it.",
                               kind="NotSupported", hint="Exclude less, or do not target what needs it.")
    return frozenset(names - chosen)


def _refuse_unknown(known: Collection[str], asked: Iterable[str]) -> None:
    for name in asked:
        if name in known:
            continue
        if "/" in name:
            raise errors.UserError(
                f"{name} is in a nested stack: only a resource of the outermost stack can be chosen.",
                kind="NotSupported", hint=f"Choose the nested stack as a whole: {name.partition('/')[0]}.")
        raise errors.NotFound(f"The Resource ({name}) is neither in the template nor in the stack.",
                              kind="ResourceNotFound", hint=f"One of: {', '.join(sorted(known)[:20])}.")


def _targeted(before: Requirements, after: Requirements, target: Iterable[str]) -> set[str]:
    """Return the targets, what the wanted ones need, and what uses those that are to be deleted."""
    users = _users(before)
    return _closure(target, lambda name: after[name] if name in after else users.get(name, ()))


def _excluded(before: Requirements, after: Requirements, exclude: Iterable[str]) -> set[str]:
    """Return the excluded names, what needs them, and what they use that would be deleted."""
    users = _users(after)

    def kept(name: str) -> list[str]:
        return [*users.get(name, ()), *(need for need in before.get(name, ()) if need not in after)]

    return _closure(exclude, kept)


def _users(requires: Requirements) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, needs in requires.items():
        for need in needs:
            found.setdefault(need, []).append(name)
    return found


def _closure(start: Iterable[str], following: Callable[[str], Iterable[str]]) -> set[str]:
    reached = set(start)
    todo = list(reached)
    while todo:
        for name in following(todo.pop()):
            if name not in reached:
                reached.add(name)
                todo.append(name)
    return reached
