"""Requirements that no reference shows: each type computes those of its resources from the template alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from isotherm.errors import Problem
from isotherm.resources import contract
from isotherm.resources.neighbours import Neighbour, Neighbours
from isotherm.template.model import model

TypeOf = Callable[[str], type[contract.Resource] | None]


def has_any(types: Iterable[type[contract.Resource]]) -> bool:
    """Return whether one of the types implies requirements."""
    return any(_implies(one) for one in types)


def add(bound: model.Bound, type_of: TypeOf) -> tuple[Problem, ...]:
    """Add the implied requirements to the definitions of a template; return the problems of types that fail to say.

    All are computed before the first is added, so that they do not depend on the order of the template.
    """
    definitions, answers = bound.definitions, dict[type[contract.Resource], bool]()
    implying: list[tuple[str, type[contract.Resource]]] = []
    for name in definitions:
        type_ = type_of(name)
        if type_ is not None and _answer(answers, type_):
            implying.append((name, type_))
    problems: list[Problem] = []
    found: dict[str, frozenset[str]] = {}
    others = Neighbours(definitions, lambda name: _type_name(type_of(name)))
    for name, type_ in implying:
        if definitions[name].external_id is not None:
            continue  # its object is there already
        try:
            needed = frozenset(type_.implied_requirements(Neighbour(definitions[name], type_.TYPE).properties, others))
        except Exception as error:  # noqa: BLE001 - a mistake in the type, or properties of a wrong form
            problems.append(Problem(f"The implied requirements of resource {name} ({definitions[name].type}) cannot be "
                                    f"computed: {type(error).__name__}: {error}"))
            continue
        found[name] = needed & definitions.keys() - {name}
    for name, needed in found.items():
        if not needed <= definitions[name].requires:
            definitions[name] = replace(definitions[name], requires=definitions[name].requires | needed)
    return tuple(problems)


def _answer(answers: dict[type[contract.Resource], bool], type_: type[contract.Resource]) -> bool:
    if type_ not in answers:
        answers[type_] = _implies(type_)
    return answers[type_]


def _implies(type_: type[contract.Resource]) -> bool:
    own = type_.implied_requirements.__func__  # type: ignore[attr-defined]
    return own is not contract.Resource.implied_requirements.__func__  # type: ignore[attr-defined]


def _type_name(type_: type[contract.Resource] | None) -> str:
    return "" if type_ is None else type_.TYPE
