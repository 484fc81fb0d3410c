"""AWS::EC2::SecurityGroup: a security group of Neutron, with rules in the form of EC2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from isotherm.resources.openstack import finders
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.neutron import base, rules
from isotherm.resources.openstack.neutron.security_group import RuleSet
from isotherm.resources.openstack.table import Column
from isotherm.resources.schema import LIST, MAP, STRING, Schema
from isotherm.resources.translation import Kind, Rule

GROUP_DESCRIPTION, INGRESS, EGRESS = "GroupDescription", "SecurityGroupIngress", "SecurityGroupEgress"
_PROTOCOL, _FROM, _TO, _PREFIX = "IpProtocol", "FromPort", "ToPort", "CidrIp"
_GROUP_ID, _GROUP_NAME = "SourceSecurityGroupId", "SourceSecurityGroupName"
_DIRECTIONS = {INGRESS: "ingress", EGRESS: rules.EGRESS}
_ANY = ("-1", "all", "any", "")
_LIVE_RULES = "security_group_rules"

_RULE = Schema(MAP, "A rule.", schema={
    _PREFIX: Schema(STRING, "The range of addresses of the other side."),
    _FROM: Schema(STRING, "The first port, or the type of an ICMP message; -1 for any."),
    _TO: Schema(STRING, "The last port, or the code of an ICMP message; -1 for any."),
    _PROTOCOL: Schema(STRING, "The protocol, by name or number; -1 for any."),
    _GROUP_ID: Schema(STRING, "The id of the security group of the other side."),
    _GROUP_NAME: Schema(STRING, "The security group of the other side, by name or id."),
    "SourceSecurityGroupOwnerId": Schema(STRING, "Not implemented.", implemented=False),
})


def _rules(description: str) -> Column:
    return Column(schema=Schema(LIST, description, update_allowed=True, schema=_RULE), is_sent=False)


class EC2SecurityGroup(RuleSet):
    """A security group of Neutron."""

    TYPE = "AWS::EC2::SecurityGroup"
    DESCRIPTION = "Rules that say which traffic may pass the interfaces of the group."
    translation_rules = tuple(
        Rule(Kind.RESOLVE, (name, _GROUP_NAME), finder=finders.security_group) for name in _DIRECTIONS)
    table = base.table(
        "/security-groups", "security_group", finder=finders.security_group,
        columns={
            GROUP_DESCRIPTION: Column(schema=Schema(STRING, "The description of the group.", required=True), is_sent=False),
            "VpcId": Column(schema=Schema(STRING, "Passed over: all groups of a project are for all its networks."),
                            is_sent=False),
            INGRESS: _rules("The rules for traffic that comes in."),
            EGRESS: _rules("The rules for traffic that goes out. Without any, all may go out."),
        },
        attributes={},
    )

    def create_body(self) -> Found:
        return {**super().create_body(), "name": self.default_name}

    @property
    def description(self) -> str | None:
        return str(self.properties[GROUP_DESCRIPTION])

    def wanted_rules(self) -> Sequence[Mapping[str, Any]]:
        return [_to_neutron(rule, direction) for name, direction in _DIRECTIONS.items()
                for rule in self.properties[name] or ()]

    async def finish(self) -> None:
        await super().finish()
        if self.wanted_rules():
            await self.set_rules()

    async def apply(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if changed.keys() & _DIRECTIONS.keys():
            await self.set_rules()
        return None

    def live(self, found: Found) -> Found:
        live: Found = {}
        for name, direction in _DIRECTIONS.items():
            if self.properties[name]:
                shown = [one for one in found.get(_LIVE_RULES) or () if one[rules.DIRECTION] == direction]
                wanted = {rules.key(_to_neutron(one, direction)) for one in self.properties[name]}
                live[name] = self.properties[name] if rules.keys(shown) == wanted else [_from_neutron(one) for one in shown]
        return live

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        yield from super().validate_properties(properties)
        for name in _DIRECTIONS:
            for rule in properties.get(name) or ():
                for port in (rule.get(_FROM), rule.get(_TO)):
                    if port is not None and not _is_number(port):
                        yield f"{name}: {port!r} is not the number of a port."


def _is_number(text: Any) -> bool:
    digits = str(text).strip().removeprefix("-")
    return digits.isdigit() and digits.isascii()


def _to_neutron(rule: Mapping[str, Any], direction: str) -> dict[str, Any]:
    """Return a rule as Neutron has it: what is -1 for EC2 is left out."""
    protocol = str(rule.get(_PROTOCOL) or "").lower()
    ports = {rules.PORT_MIN: rule.get(_FROM), rules.PORT_MAX: rule.get(_TO)}
    return {
        rules.DIRECTION: direction, rules.ETHERTYPE: rules.IPV4, rules.PROTOCOL: None if protocol in _ANY else protocol,
        **{name: int(port) if port is not None and int(port) >= 0 else None for name, port in ports.items()},
        rules.REMOTE_PREFIX: rule.get(_PREFIX) or None,
        rules.REMOTE_GROUP_ID: rule.get(_GROUP_ID) or rule.get(_GROUP_NAME) or None,
    }


def _from_neutron(rule: Mapping[str, Any]) -> dict[str, Any]:
    found = {_PROTOCOL: rule[rules.PROTOCOL], _FROM: rule[rules.PORT_MIN], _TO: rule[rules.PORT_MAX],
             _PREFIX: rule[rules.REMOTE_PREFIX], _GROUP_ID: rule[rules.REMOTE_GROUP_ID]}
    return {name: str(value) for name, value in found.items() if value is not None}
