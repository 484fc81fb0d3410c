"""Import: existing objects become resources of a stack, new or old, and nothing is changed in the cloud.

A first pass only reads: it observes each object and compares it with its definition. The operation that follows adopts the
objects, and tries again what had failed. The template may differ from that of the stack in the imported resources only.
What differs from the template in an object is recorded as it is, and the next update changes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from isotherm import errors
from isotherm.engine.operations import patch
from isotherm.engine.operations.accept import Accepted, Acceptor, Request, refuse_suspended
from isotherm.engine.operations.patch import Patch
from isotherm.engine.ownership import import_checks
from isotherm.engine.ownership.import_checks import FoundObject
from isotherm.engine.queries.stack_inputs import StackInputs
from isotherm.engine.queries.stacks import StackFinder
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import desired, documents, names
from isotherm.resources import contract, registry
from isotherm.resources.nested import nested_stack
from isotherm.resources.reality.observation import LiveState, Seen, Unseen
from isotherm.states import Action, Status
from isotherm.store.database.writer import Connection
from isotherm.store.operations import adopt, plan
from isotherm.store.reads import lookups
from isotherm.store.records import Input, Version, Wanted
from isotherm.template.model import definitions

# The time limit for one object.
_PATIENCE_S = 20.0
_VERSION = "2021-04-16"


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A request to import that was validated, and what was found."""

    name: str
    # None: the stack is to be created.
    stack: lookups.Row | None
    stack_id: str
    request: Request
    goal: desired.Desired
    found: list[FoundObject]

    @property
    def generation(self) -> int:
        return 0 if self.stack is None else int(self.stack["generation"])


class ImportService:
    """Imports existing objects into stacks of one project."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._requester = requester
        self._stacks = StackFinder(ports.store, requester.project)
        self._inputs = StackInputs(ports, requester.project)
        self._acceptor = Acceptor(ports, requester)

    async def plan(self, name: str, change: Request | Patch, objects: Mapping[str, str]) -> dict[str, Any]:
        """Return what an import would take in: each object beside its definition. Nothing is changed."""
        prepared = await self._prepare(name, change, objects)
        secrets = await self._inputs.secrets(prepared.stack, prepared.request.input)
        shown = [one.as_dict() for one in prepared.found]
        return {"stack_name": prepared.name, "generation": prepared.generation,
                "resources": await self._ports.planning.masked(secrets, shown)}

    async def take(
        self, name: str, change: Request | Patch, objects: Mapping[str, str], *, generation: int | None = None
    ) -> Accepted:
        """Import objects, by resource name and physical id, into a stack. A stack that does not exist is created.

        `generation` is the one that the caller has seen. Raises UserError for objects that were not found, and Conflict for
        one that another resource owns.
        """
        prepared = await self._prepare(name, change, objects)
        if problems := tuple(one.problem for one in prepared.found if one.problem is not None):
            raise errors.UserError(problems=problems)
        if generation not in (None, prepared.generation):
            raise errors.Conflict("Another operation on this stack was accepted meanwhile.", kind="ActionInProgress",
                                  hint="Look at the stack, and ask again if you still want it.")
        acceptance = await self._acceptor.acceptance(
            prepared.stack_id, prepared.generation, Action.ADOPT, prepared.request, prepared.goal)

        def write_plan(connection: Connection, operation_id: str, now: float) -> None:
            adopt.drop_unmade(connection, import_checks.unmade(connection, prepared.stack_id, objects))
            plan.write(connection, operation_id, prepared.goal.wanted, now)
            requires = {want.name: want.requires for want in prepared.goal.wanted}
            adopt.take_over(connection, self._versions(prepared, operation_id), requires, now)

        if prepared.stack is not None:
            return await self._acceptor.supersede(acceptance, write_plan)
        new = self._acceptor.new_stack(prepared.stack_id, prepared.name)
        return await self._acceptor.create(new, acceptance, write_plan)

    async def template(self, objects: Mapping[str, str], types: Mapping[str, str]) -> dict[str, Any]:
        """Return a template for objects, by resource name, physical id and type, from their live properties."""
        if unknown := sorted(objects.keys() ^ types.keys()):
            raise errors.UserError(f"resources.{unknown[0]}: give both an id and a type.", kind="ValueError")
        resources = await asyncio.gather(*(self._described(name, id_, types[name]) for name, id_ in objects.items()))
        return {"heat_template_version": _VERSION, "resources": dict(zip(objects, resources, strict=True))}

    async def _described(self, name: str, physical_id: str, type_name: str) -> dict[str, Any]:
        limited = self._ports.types.limited(self._requester.may_use)
        type_ = limited.types.get(type_name)
        if type_ is None:
            raise errors.NotFound(f"The Resource Type ({type_name}) could not be found.", kind="EntityNotFound")
        defaults = {key: one.default for key, one in type_.properties_schema.items()}
        state = contract.ResourceState(name=name, stack_name="", stack_id="", token=self._ports.new_id(),
                                       properties=defaults, physical_id=physical_id)
        live = await self._observe(type_, state)
        if live is None:
            raise errors.UserError(f"{type_name} cannot be observed.", kind="NotSupported", path=f"resources.{name}",
                                   hint="Write its template by hand.")
        if isinstance(live, Seen):
            return {"type": type_name, "properties": import_checks.live_properties(type_, live)}
        problem = import_checks.compared(state, type_, type_name, live).problem
        assert problem is not None
        raise errors.UserError(problems=(problem,))

    async def _prepare(self, name: str, change: Request | Patch, objects: Mapping[str, str]) -> _Prepared:
        row = await self._stacks.any_row(name)
        stack = row if row is not None and not row["tomb"] else None
        if isinstance(change, Patch):
            change = await patch.patched(self._inputs, await self._stacks.row(name), change)
        if stack is None:
            names.check_stack_name(name)
        else:
            refuse_suspended(stack)
        name, stack_id = (stack["name"], stack["id"]) if stack else (name, self._ports.new_id())
        goal = await self._acceptor.desire(change, name, stack_id)
        if stack is not None:
            await self._inputs.refuse_immutable(stack, goal)
        targets = self._targets(goal, objects)
        published = await self._ports.store.read(
            lambda connection: import_checks.refuse_other_changes(connection, stack_id, goal, objects))
        found = await asyncio.gather(*(
            self._look(goal.bound.definitions[one].type, targets[one], contract.ResourceState(
                name=one, stack_name=name, stack_id=stack_id, token=self._ports.new_id(), physical_id=id_,
                properties=self._wanted(goal, targets[one], published)))
            for one, id_ in objects.items()))
        return _Prepared(name, stack, stack_id, change, goal, list(found))

    def _targets(self, goal: desired.Desired, objects: Mapping[str, str]) -> dict[str, documents.Target]:
        """Return the targets of the resources to import. Raises UserError with all that cannot be imported."""
        targets = {want.name: documents.decode(want.definition, documents.Target) for want in goal.wanted}
        problems: list[errors.Problem] = []
        if not objects:
            problems.append(errors.Problem("There is nothing to import.",
                                           hint="Name resources with the ids of their objects."))
        for name in objects:
            if name not in targets:
                problems.append(errors.Problem("the template has no such resource.", f"resources.{name}",
                                               hint="Write the resource into the template first."))
            elif self._is_nested(targets[name].implementation):
                problems.append(errors.Problem("a nested stack cannot be imported.", f"resources.{name}",
                                               hint="`isotherm adopt` takes in a stack with all its resources."))
            elif goal.bound.definitions[name].external_id is not None:
                problems.append(errors.Problem("an external resource stays with its owner.", f"resources.{name}",
                                               hint="Leave out its external_id."))
        if problems:
            raise errors.UserError(problems=tuple(problems))
        return {name: targets[name] for name in objects}

    def _is_nested(self, implementation: str) -> bool:
        found = self._ports.types.types.get(implementation)
        return nested_stack.is_template(implementation) or (found is not None and nested_stack.owns_nested_stack(found))

    def _wanted(self, goal: desired.Desired, target: documents.Target, published: Sequence[Input]) -> dict[str, Any]:
        """Return the typed properties of a definition, without those that are known only when they are applied."""
        references = import_checks.ImportReferences(published, goal.values.__getitem__)
        resolved = definitions.thaw(target.definition).resolve(references).properties or {}
        known = {key: value for key, value in resolved.items() if import_checks.UNKNOWN not in str(value)}
        typed = registry.typed_properties(self._ports.types.implementation(target.implementation), known)
        return {key: value for key, value in typed.items() if key in known or key not in resolved}

    async def _look(self, type_name: str, target: documents.Target, state: contract.ResourceState) -> FoundObject:
        type_ = self._ports.types.implementation(target.implementation)
        return import_checks.compared(state, type_, type_name, await self._observe(type_, state))

    async def _observe(self, type_: type[contract.Resource], state: contract.ResourceState) -> LiveState | None:
        """Observe an object with the credential of the request; None if its type cannot be observed."""
        if not contract.is_observable(type_):
            return None
        ports, context = self._ports, self._ports.reading_context(self._requester.project)
        cloud = ports.cloud_of(self._requester) or (context.cloud and context.cloud.of_stack(state.stack_id))
        try:
            async with asyncio.timeout(_PATIENCE_S):
                return await contract.observe(type_(state, replace(context, cloud=cloud)))
        except TimeoutError:
            return Unseen("it took too long")

    def _versions(self, prepared: _Prepared, operation_id: str) -> list[Version]:
        wanted = {want.name: want for want in prepared.goal.wanted}
        return [self._version(one, wanted[one.name], prepared.stack_id, operation_id) for one in prepared.found]

    def _version(self, found: FoundObject, want: Wanted, stack_id: str, operation_id: str) -> Version:
        target = documents.decode(want.definition, documents.Target)
        live = None if found.live is None else dict(found.live)
        intent = documents.Intent(Action.ADOPT, operation_id, live=live)
        return Version(
            0, stack_id, want.name, found.type, target.implementation, self._ports.new_id(), found.physical_id,
            Action.ADOPT, Status.IN_PROGRESS, "", "{}", None, "null", "{}", None, "[]", None, False, want.deletion_policy,
            False, operation_id, documents.encode(intent))
