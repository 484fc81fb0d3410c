"""Ports through which resources read each other during the import, when nothing is in our store yet.

They are the reading halves of the ports of a type, over what has been prepared so far. They change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isotherm import errors
from isotherm.planning import desired, outputs
from isotherm.planning.references import PublishedReferences
from isotherm.resources import contract
from isotherm.resources.context import software
from isotherm.resources.context.signals import Inbox, Signal
from isotherm.store.records import Input
from isotherm.template.parameters import parameters
from isotherm.template.text import document


class PreparedStack:
    """The prepared part of one stack, as other resources may read it."""

    def __init__(
        self, identity: desired.Identity, goal: desired.Desired, template: str, made_at: Mapping[str, float]
    ) -> None:
        self.identity = identity
        self.goal = goal
        self.template = template
        self.made_at = made_at
        # By resource, in the order in which they were prepared.
        self.published: dict[str, str] = {}

    @property
    def inputs(self) -> list[Input]:
        """Return the published values, in the order of the template."""
        return [Input(name, None, self.published[name]) for name in self.goal.bound.definitions if name in self.published]


class PreparedStacks:
    """The stacks, software configs and inboxes of one import."""

    def __init__(self) -> None:
        self.stacks: dict[str, PreparedStack] = {}
        self.configs: dict[str, software.Config] = {}
        self.inboxes: dict[str, Inbox] = {}

    # contract.Stacks

    async def arn(self, stack_id: str) -> str:
        identity = self.stacks[stack_id].identity
        return parameters.arn(identity.project, identity.name, identity.id)

    async def outputs(self, stack_id: str) -> Mapping[str, Any]:
        ready = self.stacks[stack_id]
        found = outputs.of(ready.goal.values, ready.goal.bound.outputs.values(),
                           [(one.name, None, one.published) for one in ready.inputs])
        return {one["output_key"]: one["output_value"] for one in found}

    async def members(self, stack_id: str) -> Sequence[contract.Member]:
        ready = self.stacks[stack_id]
        found = document.load(ready.template).data.get("resources") or {}
        return [contract.Member(name, one, made_at=ready.made_at.get(name)) for name, one in found.items()]

    async def references(self, stack_id: str) -> Mapping[str, Any]:
        known = self._known(stack_id)
        return {name: known.reference_id(name) for name in self.stacks[stack_id].published}

    async def published(self, stack_id: str, path: Sequence[Any]) -> Mapping[str, Any]:
        known = self._known(stack_id)
        return {name: known.attribute(name, str(path[0]), path[1:]) for name in self.stacks[stack_id].published}

    def _known(self, stack_id: str) -> PublishedReferences:
        return PublishedReferences(self.stacks[stack_id].inputs, _no_parameter)

    # software.Software

    async def config(self, stack_id: str, config_id: str) -> software.Config | None:
        return self.configs.get(config_id)

    # signals.Signals

    async def inbox(self, stack_id: str, reference: str, near: Sequence[int] = ()) -> Inbox | None:
        return self.inboxes.get(reference)

    def receive(self, references: Sequence[str], type_: str, signals: Sequence[Signal]) -> None:
        for reference in references:
            self.inboxes[reference] = Inbox("", type_, len(signals), signals)


def _no_parameter(name: str) -> object:
    raise errors.Bug(f"what was published needs no parameter, not even {name}")
