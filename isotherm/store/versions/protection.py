"""Protection of objects and stacks: writes what may not be done to them, and checks it before it is done (I17).

The protection of an object is a part of its version. It holds from the first completion of the version on: an object whose
creation has failed or was interrupted can be deleted and made again. `claim.begin` asks `refusals` in the transaction that
stores an intent: after it, the cloud is called.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from isotherm import errors
from isotherm.states import KEPT, Action, NodeKind, Protection, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.records import Beginning, Operation, Version, Wanted
from isotherm.store.transitions import versions
from isotherm.store.transitions.versions import Protector

KIND = "Protected"

_VERSION, _STACK = t.resources.c, t.stacks.c
_WORDS = {Protection.DELETE: "delete", Protection.REPLACE: "replace", Protection.UPDATE: "update"}
# The protection that forbids an action on an existing object.
_FORBIDDEN_BY = {
    Action.DELETE: Protection.DELETE, Action.UPDATE: Protection.UPDATE, Action.SUSPEND: Protection.UPDATE,
    Action.RESUME: Protection.UPDATE,
}
_LEVELS = {int(member): member for member in Protection}
_IS_PROTECTED = sa.or_(_VERSION.protection > 0, _VERSION.template_protection > 0)
_IN_FORCE = sa.and_(
    ~sa.and_(_VERSION.action == int(Action.CREATE), _VERSION.status != int(Status.COMPLETE)), versions.holds_object())
# Where the policy keeps the object, the end of its resource does not delete it.
_IS_DELETED = sa.and_(_IN_FORCE, _VERSION.deletion_policy.not_in([int(policy) for policy in KEPT]))


class ProtectedPart(NamedTuple):
    """A protected stack, or a protected resource with the name of its stack."""

    stack: str
    # Empty: the stack itself.
    resource: str
    by: Protector

    def refuses(self, level: Protection) -> str:
        """Return why something of this level cannot be done to it, and what would have to be done first."""
        word = _WORDS[level]
        if not self.resource:
            return (f"Stack {self.stack} is protected from delete by {_user(self.by.user)}. `isotherm unprotect "
                    f"{self.stack}` lifts the protection.")
        return (f"Resource {self.resource} of stack {self.stack} is protected from {word} by {self.who(level)}. `isotherm "
                f"unprotect {self.stack} {self.resource}` lifts the protection.")

    def who(self, level: Protection) -> str:
        """Return who asked for a protection of this level."""
        asked = [*(["its template"] if self.by.template >= level else []),
                 *([_user(self.by.user)] if self.by.level >= level else [])]
        return " and by ".join(asked)


def _user(name: str) -> str:
    return f"user {name}" if name else "a user's request"


def of(row: Mapping[Any, Any]) -> Protector:
    """Return the protection in a row of a version; one that has none yet is not protected."""
    return Protector(_LEVELS[row["protection"] or 0], row["protector"] or "", _LEVELS[row["template_protection"] or 0])


def level(by: Protector) -> Protection:
    """Return what both kinds of protection together forbid."""
    return max(by.level, by.template)


def forecast(row: Mapping[Any, Any], wanted: Protection, said: Protection | None) -> str:
    """Return what an operation would be refused with that breaks this level; "" if it would not.

    `said` is what the template of the operation says: it holds before anything is done.
    """
    by = of(row) if said is None else of(row)._replace(template=said)
    never_complete = row["action"] is Action.CREATE and row["status"] is not Status.COMPLETE
    kept = wanted is Protection.DELETE and row["deletion_policy"] in KEPT
    if level(by) < wanted or never_complete or kept:
        return ""
    return f"protected from {_WORDS[wanted]} by {ProtectedPart('', '', by).who(wanted)}"


# Checks.

_COLUMNS = (_VERSION.id, _VERSION.stack_id, _VERSION.name, _VERSION.protection, _VERSION.protector,
            _VERSION.template_protection)
_PROTECTED = sa.select(*_COLUMNS, _IN_FORCE.label("in_force"), _IS_DELETED.label("is_deleted")).where(
    rows.among(_VERSION.id), _IS_PROTECTED)


class Check(NamedTuple):
    """The result of a check of beginnings: refusals by claim, and the protection of replaced versions by id."""

    refusals: Mapping[tuple[int, int], str]
    replaced: Mapping[int, Protector]


def check(connection: sa.Connection, beginnings: Sequence[Beginning]) -> Check:
    """Find the beginnings that would break a protection, also one inside a nested stack that would be deleted."""
    aims = {b.claim.key: aim for b in beginnings if (aim := _aim(b)) is not None}
    if not aims:
        return Check({}, {})
    found = {row["id"]: row for row in connection.execute(
        _PROTECTED, rows.ids({version_id for version_id, _ in aims.values()})).mappings()}
    refused: dict[tuple[int, int], str] = {}
    for beginning in beginnings:
        version_id, wanted = aims.get(beginning.claim.key, (0, None))
        row = found.get(version_id)
        if row is None or wanted is None or level(of(row)) < wanted:
            continue
        if not row["is_deleted" if wanted is Protection.DELETE else "in_force"]:
            continue
        refused[beginning.claim.key] = ProtectedPart(
            beginning.claim.operation.stack_name, row["name"], of(row)).refuses(wanted)
    going = [b for b in beginnings if b.claim.key in aims and b.claim.key not in refused
             and aims[b.claim.key][1] is not Protection.UPDATE]
    refused |= _refused_inside(connection, going)
    return Check(refused, {id_: of(row) for id_, row in found.items()})


def _aim(beginning: Beginning) -> tuple[int, Protection | None] | None:
    """Return the existing version that a beginning changes, and the level that forbids it; None if it changes none."""
    version = beginning.version
    if beginning.new:
        # Where the replaced object is gone, its protection only passes on to the new one.
        gone = beginning.lost is not None
        return None if version.replaces is None else (version.replaces, None if gone else Protection.REPLACE)
    forbidden_by = _FORBIDDEN_BY.get(version.action)
    return None if forbidden_by is None else (version.id, forbidden_by)


def _refused_inside(connection: sa.Connection, going: Sequence[Beginning]) -> dict[tuple[int, int], str]:
    """Find the beginnings that would delete a stack with something protected in it."""
    held = {version.physical_id: b for b in going
            if (version := b.claim.version if b.new else b.version) is not None and version.physical_id and b.lost is None}
    if not held:
        return {}
    stacks = connection.execute(
        sa.select(_STACK.id, _STACK.project).where(rows.among(_STACK.id), _STACK.tomb == ""), rows.ids(held)).all()
    parts = _parts(connection, [id_ for id_, project in stacks if project == held[id_].claim.operation.project])
    return {held[id_].claim.key: part.refuses(Protection.DELETE) for id_, part in parts.items()}


_CHILDREN = sa.select(_STACK.id, _STACK.owner_id).where(rows.among(_STACK.owner_id), _STACK.tomb == "")
_STACKS = sa.select(_STACK.id, _STACK.name, _STACK.protector).where(rows.among(_STACK.id), _STACK.protected == sa.true())
_RESOURCES = (
    sa.select(_VERSION.stack_id, _STACK.name.label("stack"), *_COLUMNS[2:])
    .join(t.stacks, _STACK.id == _VERSION.stack_id)
    .where(rows.among(_VERSION.stack_id), _IS_PROTECTED, _IS_DELETED,
           sa.or_(_VERSION.protection >= int(Protection.DELETE), _VERSION.template_protection >= int(Protection.DELETE)))
    .order_by(_VERSION.id)
)


def _parts(
    connection: sa.Connection, stack_ids: Collection[str], *, resources: bool = True
) -> dict[str, ProtectedPart]:
    """Return, for stacks with everything nested in them, the first part that is protected from delete."""
    found: dict[str, ProtectedPart] = {}
    tops = {id_: id_ for id_ in stack_ids}
    while tops:
        found |= _protected_of(connection, tops, resources=resources)
        inside = connection.execute(_CHILDREN, rows.ids(tops)).all()
        tops = {id_: tops[owner] for id_, owner in inside if tops[owner] not in found}
    return found


def _protected_of(
    connection: sa.Connection, tops: Mapping[str, str], *, resources: bool
) -> dict[str, ProtectedPart]:
    """Return the first protected part of stacks, given with the stacks at their tops, by those."""
    found: dict[str, ProtectedPart] = {}
    for id_, name, user in connection.execute(_STACKS, rows.ids(tops)):
        found.setdefault(tops[id_], ProtectedPart(name, "", Protector(Protection.DELETE, user, Protection.NONE)))
    for row in connection.execute(_RESOURCES, rows.ids(tops)).mappings() if resources else ():
        found.setdefault(tops[row["stack_id"]], ProtectedPart(row["stack"], row["name"], of(row)))
    return found


def refuse_delete(connection: sa.Connection, stack_id: str) -> None:
    """Raise UserError if the stack, its resource in the outer stack, or a part of it is protected from delete."""
    part = _parts(connection, [stack_id]).get(stack_id) or _holder(connection, stack_id)
    if part is not None:
        raise errors.UserError(part.refuses(Protection.DELETE), kind=KIND)


def own_refusal(connection: sa.Connection, stack_id: str) -> str | None:
    """Return why the stack cannot be deleted: its own protection or that of a resource. Nested stacks are not read."""
    found = _protected_of(connection, {stack_id: stack_id}, resources=True).get(stack_id)
    part = found or _holder(connection, stack_id)
    return None if part is None else part.refuses(Protection.DELETE)


def refuse_leaving(connection: sa.Connection, stack_id: str) -> None:
    """Raise UserError if the stack or one nested in it is protected: it may not leave its objects behind either."""
    part = _parts(connection, [stack_id], resources=False).get(stack_id)
    if part is not None:
        raise errors.UserError(part.refuses(Protection.DELETE), kind=KIND)


def refuse_change(connection: sa.Connection, stack_id: str) -> None:
    """Raise UserError if a resource that holds the nested stack, or one of its outer stacks, is protected from any change.

    The outer stacks change a nested stack by steps on those resources; a user may ask for a change of it directly.
    """
    refused = _refused_by_holders(connection, stack_id)
    if refused:
        raise errors.UserError(refused, kind=KIND)


def _refused_by_holders(connection: sa.Connection, stack_id: str) -> str:
    """Return why a nested stack may not be changed, by a resource that holds it or one of its outer stacks; else ""."""
    row = _held(connection, stack_id)
    while row is not None:
        if row["in_force"] and level(of(row)) is Protection.UPDATE:
            return ProtectedPart(row["stack"], row["name"], of(row)).refuses(Protection.UPDATE)
        row = _held(connection, row["stack_id"])
    return ""


_UNCHANGEABLE = (
    sa.select(_STACK.name.label("stack"), *_COLUMNS[2:]).join(t.stacks, _STACK.id == _VERSION.stack_id)
    .where(_VERSION.stack_id == sa.bindparam("stack_id"), rows.among(_VERSION.name), _VERSION.superseded == sa.false(),
           _IN_FORCE, sa.or_(_VERSION.protection == int(Protection.UPDATE),
                             _VERSION.template_protection == int(Protection.UPDATE)))
)


def refused_repairs(
    connection: sa.Connection, stack_id: str, drifted: Collection[str], gone: Collection[str] = ()
) -> dict[str, str]:
    """Return why resources of a stack cannot be repaired, by name: a protection forbids any change of them.

    The objects of `gone` do not exist and may be made again, unless a resource that holds the stack is protected.
    """
    if not (drifted or gone):
        return {}
    refused = _refused_by_holders(connection, stack_id)
    if refused:
        return dict.fromkeys((*drifted, *gone), refused)
    found = connection.execute(_UNCHANGEABLE, {"stack_id": stack_id, **rows.ids(drifted)}).mappings()
    return {row["name"]: ProtectedPart(row["stack"], row["name"], of(row)).refuses(Protection.UPDATE) for row in found}


def _holder(connection: sa.Connection, stack_id: str) -> ProtectedPart | None:
    """Return the resource that holds a nested stack, if that resource is protected from delete."""
    row = _held(connection, stack_id)
    if row is None or not row["is_deleted"] or level(of(row)) < Protection.DELETE:
        return None
    return ProtectedPart(row["stack"], row["name"], of(row))


_INNER, _OUTER = t.stacks.alias(), t.stacks.alias()
_HELD = (
    sa.select(_OUTER.c.name.label("stack"), *_COLUMNS, _IN_FORCE.label("in_force"), _IS_DELETED.label("is_deleted"),
              _VERSION.action, _VERSION.status)
    .join(_INNER, _INNER.c.owner_id == _VERSION.stack_id).join(_OUTER, _OUTER.c.id == _VERSION.stack_id)
    .where(_INNER.c.id == sa.bindparam("stack_id"), _VERSION.physical_id == sa.bindparam("stack_id"))
)


def _held(connection: sa.Connection, stack_id: str) -> sa.RowMapping | None:
    """Return the version that holds a nested stack, with the name of its own stack."""
    return connection.execute(_HELD, {"stack_id": stack_id}).mappings().first()


# Changes.


def pass_on(connection: sa.Connection, new: Iterable[Beginning], replaced: Mapping[int, Protector]) -> None:
    """Protect versions that were just created: as their templates say, and as what they replace was."""
    for beginning in new:
        old = replaced.get(beginning.version.replaces or 0, Protector(Protection.NONE, "", Protection.NONE))
        said = beginning.protection
        by = old if said is None else old._replace(template=said)
        if level(by) is not Protection.NONE:
            versions.pass_on_protection(connection, beginning.version.id, by)


def keep(connection: sa.Connection, operation: Operation, wanted: Iterable[Wanted]) -> None:
    """Write what the template of an operation says; where it says nothing, a protection stays as it is.

    A rollback lifts no protection: the template that it returns to is older than the request for it.
    """
    keep_all(connection, operation.stack_id, wanted, raises_only=operation.action is Action.ROLLBACK)


def keep_all(connection: sa.Connection, stack_id: str, wanted: Iterable[Wanted], *, raises_only: bool = False) -> None:
    """Write what the template of a stack says of its present resources."""
    names: dict[Protection, list[str]] = {}
    for want in wanted:
        if want.protection is not None:
            names.setdefault(want.protection, []).append(want.name)
    for said, those in names.items():
        versions.protect_by_template(connection, stack_id, those, said, raises_only=raises_only)


def bring(connection: sa.Connection, those: Iterable[Version], brought: Mapping[str, Protector]) -> None:
    """Protect the objects of an adopted stack as in the stack that they come from, given by the names of its resources."""
    for version in those:
        by = brought.get(version.name)
        if by is not None and level(by) is not Protection.NONE:
            versions.pass_on_protection(connection, version.id, by)


_CURRENT = (
    sa.select(*_COLUMNS, _VERSION.action, _VERSION.status, _VERSION.intent)
    .join(t.nodes, rows.stands_for())
    .where(t.nodes.c.stack_id == sa.bindparam("stack"), t.nodes.c.name == sa.bindparam("resource"),
           _VERSION.superseded == sa.false())
)


def protect(connection: sa.Connection, stack_id: str, name: str, asked: Protection, user: str) -> None:
    """Protect a resource, in addition to what protects it already. Raises Conflict if what is forbidden is under way."""
    row = connection.execute(_CURRENT, {"stack": stack_id, "resource": name}).mappings().first()
    if row is None:
        raise errors.Conflict(f"Resource {name} has no object yet.", hint="Ask again when its creation has begun.")
    under_way = _FORBIDDEN_BY.get(Action(row["action"]))
    if row["intent"] is not None and under_way is not None and asked >= under_way:
        raise errors.Conflict(
            f"Resource {name} cannot be protected from {_WORDS[under_way]} now: {Action(row['action']).name} is in "
            "progress.", kind="ActionInProgress", hint="Ask again when it has ended.")
    _refuse_in_deleted(connection, stack_id)
    by = of(row)
    if asked > by.level:
        versions.protect(connection, row["id"], asked, user)


def _refuse_in_deleted(connection: sa.Connection, stack_id: str) -> None:
    """Raise Conflict if an outer stack has begun to delete the nested stack, or one that it is nested in."""
    row = _held(connection, stack_id)
    while row is not None:
        if (row["action"], row["status"]) == (Action.DELETE, Status.IN_PROGRESS):
            raise errors.Conflict("The stack is being deleted by its outer stack.", kind="ActionInProgress",
                                  hint="It is too late to protect what is in it.")
        row = _held(connection, row["stack_id"])


def unprotect(connection: sa.Connection, stack_id: str, name: str) -> None:
    """Lift every protection of a resource."""
    versions.unprotect(connection, stack_id, name)


def has_resource(connection: sa.Connection, stack_id: str, name: str) -> bool:
    """Return whether the stack has a resource, or a version, of this name."""
    nodes = sa.select(t.nodes.c.id).where(t.nodes.c.stack_id == stack_id, t.nodes.c.name == name,
                                          t.nodes.c.kind != int(NodeKind.BARRIER))
    own = sa.select(_VERSION.id).where(_VERSION.stack_id == stack_id, _VERSION.name == name)
    return connection.execute(sa.select(sa.or_(sa.exists(nodes), sa.exists(own)))).scalar_one() not in (0, False)


def protect_stack(connection: sa.Connection, stack_id: str, user: str) -> None:
    """Protect a stack from delete. Raises Conflict if its deletion is in progress."""
    row = connection.execute(sa.select(_STACK.action, _STACK.status).where(_STACK.id == stack_id)).one()
    if (row.action, row.status) == (Action.DELETE, Status.IN_PROGRESS):
        raise errors.Conflict("The stack is being deleted.", kind="ActionInProgress", hint="Update it to keep it.")
    _refuse_in_deleted(connection, stack_id)
    connection.execute(sa.update(t.stacks).where(_STACK.id == stack_id).values(protected=True, protector=user))


def unprotect_stack(connection: sa.Connection, stack_id: str) -> None:
    connection.execute(sa.update(t.stacks).where(_STACK.id == stack_id).values(protected=False, protector=""))


_SHOWN = (
    sa.select(*_COLUMNS, _VERSION.type, _VERSION.physical_id, _VERSION.superseded)
    .where(_VERSION.stack_id == sa.bindparam("stack"), _IS_PROTECTED).order_by(_VERSION.name, _VERSION.id)
)


def protected(connection: sa.Connection, stack_id: str) -> Sequence[sa.RowMapping]:
    """Return the protected versions of a stack."""
    return connection.execute(_SHOWN, {"stack": stack_id}).mappings().all()
