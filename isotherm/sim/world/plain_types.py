"""Twins of resource types with plain methods: each runs the async method of the original and waits on its thread."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from isotherm.resources import contract, gate
from isotherm.states import Action

_VERBS = tuple(action.name.lower() for action in Action)
# Every method of a type that may be async.
METHODS = (
    *(f"handle_{verb}" for verb in _VERBS), *(f"check_{verb}_complete" for verb in _VERBS), "handle_delete_snapshot",
    "find_by_token", "handle_get_reality", "reference", "attribute",
)


def twin(type_: type[contract.Resource], name: str) -> type[contract.Resource]:
    """Return a type of this name that does what `type_` does, with plain methods."""
    # `handle_signal` is a class method, and pure: it stays as it is.
    own = [one for one in METHODS if getattr(type_, one, None) is not getattr(contract.Resource, one, None)
           and gate.is_async(getattr(type_, one))]
    named = type(type_.__name__, (type_,), {"TYPE": name, "__module__": __name__})
    body: dict[str, Any] = {one: _plain(named, getattr(type_, one)) for one in dict.fromkeys([*own, "reference"])}
    observe = type_.observe_many.__func__  # type: ignore[attr-defined]
    if observe is not contract.Resource.observe_many.__func__:  # type: ignore[attr-defined]
        body["observe_many"] = classmethod(_plain_with_world(observe))
    return type(f"Plain{type_.__name__}", (named,), {**body, "__module__": __name__})


def _plain(type_: type[contract.Resource], method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def plain(self: contract.Resource, *arguments: Any) -> Any:
        # The same resource as an object of the original: methods that call one another find async ones.
        original = object.__new__(type_)
        original.__dict__ = self.__dict__
        return self.context.threads.wait(method(original, *arguments))

    return plain


def _plain_with_world(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def plain(cls: type[contract.Resource], context: contract.Context, many: Any) -> Any:
        return context.threads.wait(method(cls, context, many))

    return plain
