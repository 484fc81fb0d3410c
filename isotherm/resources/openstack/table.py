"""The description of a resource type as a table: where its objects are, and what each property is called there.

`driver.TableResource` makes schema, handlers, readiness, reality and bulk observation of it. A type that differs in a
few points overrides methods of the driver; the rest stays in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from isotherm.resources.cloud_lookups import Ask
from isotherm.resources.schema import STRING, AttributeSchema, Schema, Support
from isotherm.template.parameters import constraints


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One property: its schema, and how the service names and writes it."""

    schema: Schema
    # The name in the service's bodies; empty: the name of the property.
    wire: str = ""
    # Whether the driver sends it. The code of the type sends the others.
    is_sent: bool = True
    # Replaces the name of a cloud object by its id, also in each item of a list.
    finder: Ask | None = None
    # Bring the value into the service's form, and the service's value into the form of the property.
    to_wire: Callable[[Any], Any] | None = None
    from_wire: Callable[[Any], Any] | None = None
    # The value that an update sends where the template gives none any more.
    cleared: Any = None
    # Whether an update sends it only if this template or the former one gives it: the service takes it at creation only, or
    # knows alone what its default is.
    only_given: bool = False
    # Whether the object is called by it; without a value it has the default name.
    is_name: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """The states of an object. A state in no set counts as failed, with a reason that says so."""

    ready: frozenset[str]
    waiting: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    # States that mean that the object does not exist any more.
    gone: frozenset[str] = frozenset()
    field: str = "status"
    # The keys, one below the other, that lead to the service's explanation of a failure.
    explained_at: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPlace:
    """The place of the token in the request of a creation, and the query that finds the object by it."""

    # The key in the body. A list gets the token as an item; with `key`, a map gets it as the value of that key.
    field: str
    is_list: bool = False
    key: str = ""
    # The parameter of the list request that selects by it; empty: the list is read and filtered here.
    query: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One type of objects of a service."""

    # The type of the service in the catalog, and the path and body key of its objects.
    service: str
    path: str
    key: str
    # The key of a list; empty: `key` and an s.
    list_key: str = ""
    # The path of the list with all fields, where it is another one.
    list_path: str = ""
    # The list takes `id=` any number of times. Otherwise it is read whole.
    lists_by_id: bool = False
    # The list shows an object as a request for the object alone does, so that one list is read for many of them.
    is_listed: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    update_method: str = "PUT"
    columns: Mapping[str, Column] = field(default_factory=dict)
    attributes: Mapping[str, AttributeSchema] = field(default_factory=dict)
    states: States | None = None
    token: TokenPlace | None = None
    # A second request for an equal object is refused: then a lost answer needs no waiting.
    is_unique: bool = False
    # Whether a delete that was accepted is under way until the object is gone.
    waits_for_delete: bool = True
    # The finder by which other types refer to the objects.
    finder: Ask | None = None
    # The longest name of an object.
    name_chars: int = 255

    @property
    def plural(self) -> str:
        return self.list_key or f"{self.key}s"


def custom(name: str) -> tuple[constraints.Constraint, ...]:
    """Return the custom constraint of this name, as the constraints of a schema."""
    return (constraints.CustomConstraint(constraint=name),)


def allowed(*values: Any) -> tuple[constraints.Constraint, ...]:
    """Return the constraint to one of these values."""
    return (constraints.AllowedValues(allowed=values),)


def at_least(minimum: float) -> tuple[constraints.Constraint, ...]:
    return (constraints.Range(minimum=minimum),)


def between(minimum: float, maximum: float) -> tuple[constraints.Constraint, ...]:
    return (constraints.Range(minimum=minimum, maximum=maximum),)


def since(version: str) -> Support:
    """Return the support status of what Heat has since this version."""
    return Support(version=version)


def name_column(description: str, **more: Any) -> Column:
    """Return the column of the property `name`: without a value, the object has the default name."""
    return Column(schema=Schema(STRING, description, update_allowed=True, **more), is_name=True)
