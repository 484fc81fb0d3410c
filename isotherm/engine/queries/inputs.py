"""What can be told of a stack from what was asked for: its parameters, template, environment and files.

Also of one that is gone, as long as its row is kept.
"""

from __future__ import annotations

from typing import Any

from isotherm.engine.queries.stack_inputs import StackInputs
from isotherm.engine.queries.stacks import StackFinder
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import desired, export_document, masking
from isotherm.store.reads import lookups
from isotherm.template import environment
from isotherm.template.parameters import parameters
from isotherm.template.text import document


class Inputs:
    """Reads the inputs of one project's stacks."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._project = requester.project
        self._stacks = StackFinder(ports.store, requester.project)
        self._inputs = StackInputs(ports, requester.project)

    async def parameters(self, name_or_id: str) -> dict[str, str]:
        """Every parameter as text; hidden ones masked."""
        stack = await self._stacks.row(name_or_id, deleted=True)
        operation = None if stack["tomb"] else await self._inputs.operation(stack)
        if operation is None or not operation.input:
            return parameters.Pseudo(stack["name"], stack["id"], self._project).values()
        return dict((await self._ports.planning.summary(operation)).parameters)

    async def template(self, name_or_id: str) -> Any:
        """The template as data; hidden values masked, if it has any."""
        asked = await self._asked_once(await self._stacks.row(name_or_id, deleted=True))
        return {} if asked is None else await self._ports.planning.compute(
            asked.size, lambda: masking.redactor(asked).value(document.load(asked.template).data))

    async def template_text(self, name_or_id: str) -> str:
        """The template as it was handed in; nothing if there is none."""
        asked = await self._asked_once(await self._stacks.row(name_or_id))
        return "" if asked is None else asked.template

    async def environment(self, name_or_id: str) -> dict[str, Any]:
        """The environment; hidden values masked."""
        stack = await self._stacks.row(name_or_id, deleted=True)
        asked = await self._asked_once(stack)
        if asked is None:
            return environment.Environment().as_dict()
        shown = (await self._inputs.masked(stack, asked, export_document.stack(stack, asked, {})))["environment"]
        return {**shown, "resource_registry": {**_templates(asked.template), **shown["resource_registry"]}}

    async def files(self, name_or_id: str) -> dict[str, str]:
        """Files by name; hidden values masked, where they are quoted."""
        asked = await self._asked_once(await self._stacks.row(name_or_id, deleted=True))
        if asked is None:
            return {}

        def masked() -> dict[str, str]:
            secrets = masking.redactor(asked)
            return {name: secrets.text(text) for name, text in asked.files.items()}

        return await self._ports.planning.compute(asked.size + sum(map(len, asked.files.values())), masked)

    async def _asked_once(self, stack: lookups.Row) -> desired.Asked | None:
        """What the stack is, or was, to be; None if that is nothing."""
        if stack["tomb"]:
            return None  # what it was made of has gone with it
        operation = await self._inputs.operation(stack)
        return None if operation is None or not operation.input else await self._inputs.asked(stack)


def _templates(text: str) -> dict[str, str]:
    """The files that serve as types in a template: each is registered under its own name."""
    types = (one.get("type") or one.get("Type") for one in desired.parsed(text).resources.values())
    return {one: one for one in types if isinstance(one, str) and one.endswith(environment.TEMPLATE_SUFFIXES)}
