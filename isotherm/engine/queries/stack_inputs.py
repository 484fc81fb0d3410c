"""Inputs of stacks: the template, files and environment of an operation, and the secrets in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from isotherm import errors
from isotherm.engine.service_ports import ServicePorts
from isotherm.planning import desired, export_document, masking, off_loop, planner
from isotherm.secrets import Redactor
from isotherm.store import rows
from isotherm.store.database.writer import Connection
from isotherm.store.reads import lookups
from isotherm.store.records import Operation
from isotherm.template.parameters import parameters

T = TypeVar("T")


class StackInputs:
    """Reads the inputs of a project's stacks, and masks the secrets in them."""

    def __init__(self, ports: ServicePorts, project: str) -> None:
        self._ports = ports
        self._project = project

    async def operation(self, stack: lookups.Row) -> Operation | None:
        """Return the newest operation of the stack."""
        return await self._ports.store.read(lambda connection: rows.operation(connection, stack["operation_id"]))

    async def asked(self, stack: lookups.Row) -> desired.Asked:
        """Return the input of the stack's newest operation. Raises UserError if it has none."""
        return await self._ports.store.read(lambda connection: read_input(connection, stack))

    async def export_document(
        self, stack: Mapping[Any, Any], asked: desired.Asked, resources: Mapping[str, Any], *, hidden: bool = False
    ) -> dict[str, Any]:
        """Return the export document of a stack with these resources; `hidden`: with its secrets."""

        def work() -> dict[str, Any]:
            whole = export_document.stack(stack, asked, resources)
            return whole if hidden else export_document.masked(whole, self._hidden(stack, asked))

        return await self._ports.planning.compute(asked.size + off_loop.weight(resources), work)

    async def secrets(self, stack: lookups.Row | None, asked: desired.Asked | None = None) -> Redactor:
        """Return a redactor of the secrets that the stack has, and of those that it would have with `asked`."""
        planning = self._ports.planning
        of_stack = masking.NO_SECRETS if stack is None else await planning.all_secrets(stack["id"])
        if asked is None:
            return of_stack
        own = await planning.compute(asked.size, lambda: masking.redactor(asked))
        return masking.union([of_stack, own])

    async def compute(self, size: int, work: Callable[[], T]) -> T:
        """Do work on texts of this size, off the loop if they are large."""
        return await self._ports.planning.compute(size, work)

    async def refuse_immutable(self, stack: lookups.Row, goal: desired.Desired) -> None:
        """Raise UserError if the desired state changes an immutable parameter of the stack."""
        template = goal.bound.template
        if not any(schema.immutable for schema in template.parameters.values()):
            return
        operation = await self.operation(stack)
        if operation is not None and operation.input:
            before = (await self._ports.planning.summary(operation)).values
            parameters.refuse_immutable(template.parameters, before, goal.values)

    def _hidden(self, stack: Mapping[Any, Any], asked: desired.Asked) -> dict[str, Any]:
        """Return the values of hidden parameters, by name."""
        identity = desired.Identity(stack["name"], stack["id"], self._project)
        values = desired.values_of(asked, identity)
        hidden = {name: values[name] for name in values.hidden if name in values}
        return {**hidden, export_document.AROUND: list(asked.secrets)} if asked.secrets else hidden


def read_input(connection: Connection, stack: lookups.Row) -> desired.Asked:
    """Return the input of the stack's newest operation. Raises UserError if it has none."""
    operation = rows.operation(connection, stack["operation_id"])
    if operation is None or not operation.input:
        raise errors.UserError(f"Stack {stack['name']} has no template: it was rolled back to nothing.",
                               kind="NotSupported", hint="Update it with a template.")
    return planner.asked_for(connection, stack["id"], operation.input)
