"""The uses of a tree: resources, their attributes, and hidden parameters.

The graph of a stack, and the list of attributes that a finished resource publishes, are built from these without
evaluating a function.
"""

from __future__ import annotations

from typing import Any

from isotherm import errors
from isotherm.template.functions import node
from isotherm.template.functions.node import Function, Live

_EMPTY: frozenset[Any] = frozenset()


def find(graph: tuple[Any, ...], everything: tuple[Any, ...],
         hidden: frozenset[str]) -> tuple[frozenset[Any], frozenset[Any], frozenset[str]]:
    """Return the resources and attributes in the `graph` trees, and the hidden parameters in all trees."""
    requires: set[Any] = set()
    needs: set[Any] = set()
    secrets: set[str] = set()
    for tree in graph:
        if isinstance(tree, Live):
            _collect(tree, requires, needs)
    if hidden:
        for tree in everything:
            if isinstance(tree, Live):
                _collect_secrets(tree, hidden, secrets)
    return (frozenset(requires) if requires else _EMPTY, frozenset(needs) if needs else _EMPTY,
            frozenset(secrets) if secrets else _EMPTY)


def _collect_secrets(tree: Any, hidden: frozenset[str], secrets: set[str]) -> None:
    for _, function in node.functions(tree):
        for parameter in function.parameters():
            secrets.update(hidden if parameter is None else {parameter} & hidden)


def _collect(tree: Any, requires: set[Any], needs: set[Any]) -> None:
    """Collect the resources that functions use, and their attributes."""
    if isinstance(tree, Function):
        for name, attribute in tree.uses():
            _collect_use(name, attribute, requires, needs)
        if isinstance(tree.args, Live):
            _collect(tree.args, requires, needs)
        return
    for item in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        if isinstance(item, Live):
            _collect(item, requires, needs)


def _collect_use(name: Any, attribute: tuple[Any, ...] | None, requires: set[Any], needs: set[Any]) -> None:
    """Collect one use. A value that is no name is recorded as a missing resource, for check_references."""
    if isinstance(name, dict | list):
        requires.add(repr(name))
        return
    requires.add(name)
    if attribute is None:
        return
    if attribute and (not isinstance(attribute[0], str) or any(isinstance(part, dict | list) for part in attribute)):
        requires.add(repr(attribute))
        return
    needs.add((name, attribute))


def refuse_no_name(name: Any, attribute: tuple[Any, ...] | None) -> None:
    for part in (name, *(attribute or ())):
        if isinstance(part, dict | list):
            raise errors.UserError(f"unhashable type: '{type(part).__name__}'", kind="TypeError")
    if attribute and not isinstance(attribute[0], str):
        raise errors.UserError(f"'{type(attribute[0]).__name__}' object is not subscriptable", kind="TypeError")
