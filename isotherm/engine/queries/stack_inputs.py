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

    async def input(self, stack: lookups.Row) -> desired.StackInput:
        """Return the input of the stack's newest operation. Raises UserError if it has none."""
        return await self._ports.store.read(lambda connection: read_input(connection, stack))

    async def read(self, unit: Callable[[Connection], desired.StackInput]) -> desired.StackInput:
        """Return the input that a unit of work reads."""
        return await self._ports.store.read(unit)

    async def export_document(
        self, stack: Mapping[Any, Any], input_: desired.StackInput, resources: Mapping[str, Any], *, hidden: bool = False
    ) -> dict[str, Any]:
        """Return the export document of a stack with these resources; `hidden`: with its secrets."""

        def work() -> dict[str, Any]:
            whole = export_document.stack(stack, input_, resources)
            return whole if hidden else export_document.masked(whole, self._hidden(stack, input_))

        return await self._ports.planning.compute(input_.size + off_loop.weight(resources), work)

    async def secrets(self, stack: lookups.Row | None, input_: desired.StackInput | None = None) -> Redactor:
        """Return a redactor of the secrets that the stack has, and of those that it would have with `asked`."""
        planning = self._ports.planning
        of_stack = masking.NO_SECRETS if stack is None else await planning.all_secrets(stack["id"])
        if input_ is None:
            return of_stack
        own = await planning.compute(input_.size, lambda: masking.redactor(input_))
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

    def _hidden(self, stack: Mapping[Any, Any], input_: desired.StackInput) -> dict[str, Any]:
        """Return the values of hidden parameters, by name."""
        identity = desired.Identity(stack["name"], stack["id"], self._project)
        values = desired.values_of(input_, identity)
        hidden = {name: values[name] for name in values.hidden if name in values}
        return {**hidden, export_document.AROUND: list(input_.secrets)} if input_.secrets else hidden


def read_input(connection: Connection, stack: lookups.Row) -> desired.StackInput:
    """Return the input of the stack's newest operation. Raises UserError if it has none."""
    operation = rows.operation(connection, stack["operation_id"])
    if operation is None or not operation.input:
        raise errors.UserError(f"Stack {stack['name']} has no template: it was rolled back to nothing.",
                               kind="NotSupported", hint="Update it with a template.")
    return planner.input_of(connection, stack["id"], operation.input)
