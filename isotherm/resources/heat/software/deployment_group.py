"""OS::Heat::SoftwareDeploymentGroup and OS::Heat::StructuredDeploymentGroup: one config for many servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from isotherm.resources import contract
from isotherm.resources.context import software
from isotherm.resources.heat.groups import resource_group
from isotherm.resources.heat.groups.resource_group import BATCH_CREATE, ROLLING_UPDATE
from isotherm.resources.heat.software import software_deployment
from isotherm.resources.nested import group_base, nested_stack
from isotherm.resources.schema import DEPRECATED, HIDDEN, MAP, AttributeSchema, Schema, Support

SERVERS = "servers"
_OF_MEMBERS = {f"{name}s": name for name in (software.STDOUT, software.STDERR, software.STATUS_CODE)}


def _properties(member: type[contract.Resource]) -> dict[str, Schema]:
    """Return the properties of one deployment, with many servers in place of one."""
    own = {name: one for name, one in member.properties_schema.items() if name != software_deployment.SERVER}
    servers = Schema(MAP, "The servers by their names; each name is that of a deployment.", required=True,
                     update_allowed=True)
    return {SERVERS: servers, **own}


def _hidden(instead: str) -> Support:
    return Support(HIDDEN, "7.0.0", f"Please use {instead} instead.", Support(DEPRECATED, "2014.2"))


class SoftwareDeploymentGroup(group_base.Group):
    """Deployments of one configuration to many servers."""

    TYPE = "OS::Heat::SoftwareDeploymentGroup"
    DESCRIPTION = "Has many servers apply one software configuration."
    support = Support(version="5.0.0")
    member: ClassVar[type[contract.Resource]] = software_deployment.SoftwareDeployment
    properties_schema: ClassVar[Mapping[str, Schema]] = _properties(software_deployment.SoftwareDeployment)
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        "deploy_stdouts": AttributeSchema("What the config wrote to its standard output, by the servers' names.", MAP),
        "deploy_stderrs": AttributeSchema("What the config wrote to its standard error, by the servers' names.", MAP),
        "deploy_status_codes": AttributeSchema("The status with which it ended, by the servers' names.", MAP),
    }
    update_policy_schema: ClassVar[Mapping[str, Schema]] = {
        ROLLING_UPDATE: Schema(MAP, "How deployments are updated.", support=Support(version="7.0.0"), schema={
            "max_batch_size": resource_group.SIZE, "pause_time": resource_group.PAUSE}),
        BATCH_CREATE: Schema(MAP, "How deployments are created.", support=Support(version="7.0.0"), schema={
            "max_batch_size": resource_group.SIZE, "pause_time": resource_group.PAUSE}),
    }

    @classmethod
    def template_for(cls, properties: Mapping[str, Any]) -> str | None:
        servers = properties.get(SERVERS) or {}
        name = next(iter(servers), None)
        return None if name is None or not servers[name] else group_base.template({name: cls._made(name, properties)})

    @classmethod
    def _made(cls, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        own = {key: value for key, value in given.items() if key != SERVERS and value is not None}
        return {"type": cls.member.TYPE, "properties": {**own, software_deployment.SERVER: given[SERVERS][name]}}

    def make(self, name: str) -> group_base.Definition:
        return self._made(name, self.properties)

    async def whole(self) -> contract.Child:
        return self.child_of({name: self.make(name) for name in self.properties[SERVERS]})

    async def stage(self, capacity: int, fresh: int, *, last: bool) -> contract.Child:
        if last:
            return await self.whole()
        names = list(self.properties[SERVERS])
        there = {} if self.physical_id is None else {
            member.name: member for member in await self.stacks.members(self.physical_id)}
        kept = [there[name] for name in names if name in there]
        after, held = group_base.arrange(kept, (name for name in names if name not in there), self.make, capacity, fresh)
        return self.child_of(after, held)

    async def handle_create(self) -> object:
        return await self._change(BATCH_CREATE, current=0)

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if self.physical_id is None:
            return await self.handle_create()
        there = {member.name for member in await self.stacks.members(self.physical_id)}
        return await self._change(ROLLING_UPDATE, current=len(there.intersection(self.properties[SERVERS])))

    async def _change(self, name: str, current: int) -> object:
        policy, target = self.policy(name), group_base.check_size(len(self.properties[SERVERS]))
        if not policy or not target:
            return await self.at_once()
        steps = list(group_base.batches(target, current, 0, policy["max_batch_size"], 0))
        return await self.in_batches(steps, policy["pause_time"])

    def of_members(self, name: str, path: list[Any]) -> list[Any]:
        # The path begins with the name of a member: of each, the whole attribute is wanted.
        return [_OF_MEMBERS.get(name, name)]

    async def attribute(self, name: str) -> object:
        name, path = group_base.split(name)
        member, tail = nested_stack.within(name)
        if member:
            return await self.of_one(member, [*tail, *path])
        found = await self.published([_OF_MEMBERS.get(name, name)])
        values = {one: found[one] for one in self.properties[SERVERS] if one in found}
        return group_base.selected(values, path)


class SoftwareDeployments(SoftwareDeploymentGroup):
    TYPE = "OS::Heat::SoftwareDeployments"
    support = _hidden("OS::Heat::SoftwareDeploymentGroup")


class StructuredDeploymentGroup(SoftwareDeploymentGroup):
    """Deployments of one configuration that is a map to many servers."""

    TYPE = "OS::Heat::StructuredDeploymentGroup"
    DESCRIPTION = "Has many servers apply one configuration that is a map."
    member: ClassVar[type[contract.Resource]] = software_deployment.StructuredDeployment
    properties_schema: ClassVar[Mapping[str, Schema]] = _properties(software_deployment.StructuredDeployment)


class StructuredDeployments(StructuredDeploymentGroup):
    TYPE = "OS::Heat::StructuredDeployments"
    support = _hidden("OS::Heat::StructuredDeploymentGroup")
