"""OS::Neutron::SecurityGroup: rules that say which traffic may pass the ports of the group."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from isotherm.resources.openstack import faults, finders, rest
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.neutron import base, rules
from isotherm.resources.openstack.table import Column, allowed, custom, name_column, since
from isotherm.resources.schema import BOOLEAN, LIST, MAP, STRING, Schema
from isotherm.resources.translation import Kind, Rule

RULES, STATEFUL = "rules", "stateful"
_MODE, _PATH = "remote_mode", "/security-group-rules"
_LIVE_RULES = "security_group_rules"

_RULE = Schema(MAP, "A rule.", schema={
    **rules.schemas(),
    _MODE: Schema(STRING, "Whether the other side is a range of addresses or a security group.",
                  default=rules.REMOTE_PREFIX, constraints=allowed(rules.REMOTE_PREFIX, rules.REMOTE_GROUP_ID)),
    rules.REMOTE_GROUP_ID: Schema(
        STRING, "The security group of the other side, by name or id; left out, the group itself.",
        constraints=custom("neutron.security_group")),
    rules.DESCRIPTION: Schema(STRING, "The description, which the rule gets when it is made.", support=since("27.0.0")),
})


class RuleSet(base.NeutronResource):
    """A security group whose rules are brought to a wanted set: the stale ones are deleted, the missing ones made."""

    def wanted_rules(self) -> Sequence[Mapping[str, Any]]:
        """Return the rules of the template as Neutron has them."""
        raise NotImplementedError

    async def set_rules(self, stale: Collection[rules.Key] | None = None) -> None:
        """Bring the rules of the group to the wanted ones. Without an egress rule, all may go out, as in a new group.

        With `stale`, only these rules are deleted: a template that gives no rules leaves those of others alone.
        """
        wanted = self._all_wanted()
        for is_last in (False, True):
            present = await self.service.pages(_PATH, _LIVE_RULES, {"security_group_id": self.physical_id})
            for rule in present:
                if rules.is_resource(rule):
                    continue
                if rules.key(rule) not in wanted and (stale is None or rules.key(rule) in stale):
                    await self._delete(rule)
            have = rules.keys(present)
            missing = [rules.to_wire(rule, str(self.physical_id)) for key, rule in wanted.items() if key not in have]
            if not missing:
                return
            try:
                await self.service.post(_PATH, {_LIVE_RULES: missing})
            except faults.InUse:
                # An earlier request was carried out since the list was read, and one equal rule refuses them all.
                if is_last:
                    raise
                continue
            return

    def _all_wanted(self) -> dict[rules.Key, Mapping[str, Any]]:
        wanted = list(self.wanted_rules())
        if not any(rule[rules.DIRECTION] == rules.EGRESS for rule in wanted):
            wanted += rules.DEFAULT_EGRESS
        return {rules.key(rule): rule for rule in wanted}

    async def _delete(self, rule: Mapping[str, Any]) -> None:
        try:
            await self.service.delete(f"{_PATH}/{rest.part(rule['id'])}")
        except faults.NoSuchObject:
            return

    def has_wanted_rules(self, found: Found) -> bool:
        """Return whether the group has the wanted rules and no others, but for those that are resources of their own."""
        present, wanted = found.get(_LIVE_RULES) or (), self._all_wanted().keys()
        own = rules.keys(one for one in present if not rules.is_resource(one))
        return own <= wanted <= rules.keys(present)


class SecurityGroup(RuleSet):
    """A security group of Neutron."""

    TYPE = "OS::Neutron::SecurityGroup"
    DESCRIPTION = "Rules that say which traffic may pass the ports of the group."
    support = since("2014.1")
    translation_rules = (Rule(Kind.RESOLVE, (RULES, rules.REMOTE_GROUP_ID), finder=finders.security_group),)
    table = base.table(
        "/security-groups", "security_group", finder=finders.security_group,
        columns={
            "name": name_column("The name of the group."),
            "description": Column(schema=Schema(STRING, "The description of the group.", update_allowed=True), cleared=""),
            RULES: Column(schema=Schema(LIST, "The rules.", default=[], update_allowed=True, schema=_RULE), is_sent=False),
            STATEFUL: Column(schema=Schema(
                BOOLEAN, "Whether answers pass without a rule of their own. A group in use cannot change it.",
                update_allowed=True, support=since("27.0.0")), is_sent=False),
        },
        attributes={},
    )

    def wanted_rules(self) -> Sequence[Mapping[str, Any]]:
        return self._rules_in(self.properties)

    def _rules_in(self, properties: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [self._to_neutron(rule) for rule in properties.get(RULES) or ()]

    def _to_neutron(self, rule: Mapping[str, Any]) -> dict[str, Any]:
        """Return a rule with one kind of other side: a group, by default this one, or a range of addresses."""
        sides = {rules.REMOTE_GROUP_ID, rules.REMOTE_PREFIX}
        found = {name: value for name, value in rule.items() if name not in sides}
        if rule.get(_MODE) == rules.REMOTE_GROUP_ID:
            return {**found, rules.REMOTE_GROUP_ID: rule.get(rules.REMOTE_GROUP_ID) or self.physical_id}
        return {**found, rules.REMOTE_PREFIX: rule.get(rules.REMOTE_PREFIX)}

    @property
    def is_made_by_post(self) -> bool:
        return super().is_made_by_post and not self.properties[RULES] and self.properties[STATEFUL] is None

    async def finish(self) -> None:
        if self.properties[STATEFUL] is not None:
            await self._set_stateful()
        await super().finish()
        if self.properties[RULES]:
            await self.set_rules()

    async def apply(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if STATEFUL in changed:
            await self._set_stateful()
        if RULES in changed:
            await self.set_rules(None if self.properties[RULES] else rules.keys(self._rules_in(before)))
        return None

    async def _set_stateful(self) -> None:
        wanted = self.properties[STATEFUL]
        if await self.service.find("/extensions/stateful-security-group") is not None:
            await self.service.put(self.path, {self.table.key: {STATEFUL: True if wanted is None else wanted}})

    def live(self, found: Found) -> Found:
        live = super().live(found)
        if self.properties[RULES]:
            # Neutron completes rules and renames protocols: equal sets are shown as the template has them.
            live[RULES] = self.properties[RULES] if self.has_wanted_rules(found) else found.get(_LIVE_RULES)
        return {**live, STATEFUL: found[STATEFUL]} if STATEFUL in found else live

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        yield from super().validate_properties(properties)
        if properties.get("name") == "default":
            yield 'Security groups cannot be assigned the name "default".'
