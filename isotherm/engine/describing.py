"""What can be told of a stack from what was asked for: its parameters, template, environment and files.

Also of one that is gone, as long as its row is kept.
"""

from __future__ import annotations

from typing import Any

from isotherm.engine import desired, papers
from isotherm.engine.accepting import Accepting
from isotherm.store import reads
from isotherm.template import document


class Describing(Accepting):
    """The part of the Orchestrator that reads inputs back."""

    async def parameters(self, name_or_id: str) -> dict[str, str]:
        """Every parameter as text; hidden ones masked."""
        stack = await self._find(name_or_id, deleted=True)
        asked = await self._asked_once(stack)
        if asked is None:
            return {}
        values = desired.values_of(asked, desired.Identity(stack["name"], stack["id"], self._project))
        return {name: values.text(name) for name in values}

    async def template(self, name_or_id: str) -> Any:
        """The template as data."""
        asked = await self._asked_once(await self._find(name_or_id, deleted=True))
        return {} if asked is None else document.load(asked.template).data

    async def environment(self, name_or_id: str) -> dict[str, Any]:
        """The environment; hidden values masked."""
        stack = await self._find(name_or_id, deleted=True)
        asked = await self._asked_once(stack)
        if asked is None:
            return {}
        whole = papers.stack(stack, asked, {})
        shown: dict[str, Any] = papers.masked(whole, self._hidden(stack, asked))["environment"]
        return shown

    async def files(self, name_or_id: str) -> dict[str, str]:
        asked = await self._asked_once(await self._find(name_or_id, deleted=True))
        return {} if asked is None else dict(asked.files)

    async def _asked_once(self, stack: reads.Row) -> desired.Asked | None:
        """What the stack is, or was, to be; None if that is nothing."""
        operation = await self._operation(stack)
        return None if operation is None or not operation.input else await self._asked(stack)
