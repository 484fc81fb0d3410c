"""Inputs of stacks, read back: parameters, template, environment, files. Deleted stacks have rows, but no input."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from isotherm.engine.queries import container_files
from isotherm.engine.queries.stack_inputs import StackInputs
from isotherm.engine.queries.stacks import StackFinder
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import desired, masking
from isotherm.store.reads import lookups
from isotherm.template import environment
from isotherm.template.parameters import parameters
from isotherm.template.text import document


class InputService:
    """Reads the inputs of one project's stacks."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports, self._requester = ports, requester
        self._project = requester.project
        self._stacks = StackFinder(ports.store, requester.project)
        self._inputs = StackInputs(ports, requester.project)

    async def parameters(self, name_or_id: str) -> dict[str, str]:
        """Return every parameter as text, with hidden ones masked."""
        stack = await self._stacks.row(name_or_id, deleted=True)
        operation = None if stack["tomb"] else await self._inputs.operation(stack)
        if operation is None or not operation.input:
            return parameters.Pseudo(stack["name"], stack["id"], self._project).values()
        return dict((await self._ports.planning.summary(operation)).parameters)

    async def template(self, name_or_id: str) -> Any:
        """Return the template as data, with secrets masked."""
        input_ = await self._input(await self._stacks.row(name_or_id, deleted=True))
        return {} if input_ is None else await self._ports.planning.compute(
            input_.size, lambda: masking.redactor(input_).value(document.load(input_.template).data))

    async def template_text(self, name_or_id: str) -> str:
        """Return the text of the template; empty if there is none."""
        input_ = await self._input(await self._stacks.row(name_or_id))
        return "" if input_ is None else input_.template

    async def environment(self, name_or_id: str) -> dict[str, Any]:
        """Return the environment, with secrets masked."""
        stack = await self._stacks.row(name_or_id, deleted=True)
        input_ = await self._input(stack)
        if input_ is None:
            return environment.Environment().as_dict()
        shown = (await self._inputs.export_document(stack, input_, {}))["environment"]
        templates = await self._ports.planning.compute(input_.size, lambda: _template_types(input_.template))
        return {**shown, "resource_registry": {**templates, **shown["resource_registry"]}}

    async def files(self, name_or_id: str) -> dict[str, str]:
        """Return the files by name, with secrets masked."""
        input_ = await self._input(await self._stacks.row(name_or_id, deleted=True))
        if input_ is None:
            return {}

        def masked() -> dict[str, str]:
            secrets = masking.redactor(input_)
            return {name: secrets.text(text) for name, text in input_.files.items()}

        return await self._ports.planning.compute(input_.size + sum(map(len, input_.files.values())), masked)

    async def container_files(self, container: str, known: Collection[str]) -> dict[str, str]:
        """Return the files in a container of Swift but those that are known, read with the caller's credential."""
        return await container_files.read(self._ports, self._requester, container, known)

    async def _input(self, stack: lookups.Row) -> desired.StackInput | None:
        """Return the input of the newest operation; None if there is none."""
        if stack["tomb"]:
            return None  # its input was deleted with it
        operation = await self._inputs.operation(stack)
        return None if operation is None or not operation.input else await self._inputs.input(stack)


def _template_types(text: str) -> dict[str, str]:
    """Return the files that a template uses as resource types, each under its own name."""
    types = (one.get("type") or one.get("Type") for one in desired.parsed(text).resources.values())
    return {one: one for one in types if isinstance(one, str) and one.endswith(environment.TEMPLATE_SUFFIXES)}
