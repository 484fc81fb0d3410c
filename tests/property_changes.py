"""Updates of every property of the types of a cloud, as tables: tests/openstack/properties/*.yaml.

A file has `resources` (a template's), `steps`, `refused` and `replace`. A step has `change` (new values by resource and
property; null: the template does not give it any more), `add` (further resources), `moves` (resources whose physical id
names other objects), and what the services show afterwards: `shown` by resource, `at` by path. The keys of what is shown
lead down with dots; `*` is each item of a list. `refused` has changes that the service refuses, with its words. `replace`
has changes after which the resources have other objects.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "openstack" / "properties"
Values = Mapping[str, Mapping[str, Any]]

#: The paths of the objects of each type, as the services have them. `{id}` is that of the object.
PATHS = {
    "OS::Neutron::Net": "/v2.0/networks/{id}", "OS::Neutron::ProviderNet": "/v2.0/networks/{id}",
    "OS::Neutron::Subnet": "/v2.0/subnets/{id}", "OS::Neutron::SecurityGroup": "/v2.0/security-groups/{id}",
    "OS::Neutron::Port": "/v2.0/ports/{id}", "OS::Neutron::Router": "/v2.0/routers/{id}",
    "OS::Neutron::FloatingIP": "/v2.0/floatingips/{id}", "AWS::EC2::EIP": "/v2.0/floatingips/{id}",
    "OS::Neutron::Trunk": "/v2.0/trunks/{id}", "OS::Nova::Server": "/servers/{id}", "AWS::EC2::Instance": "/servers/{id}",
    "OS::Nova::Flavor": "/flavors/{id}", "OS::Cinder::Volume": "/volumes/{id}", "OS::Cinder::VolumeType": "/types/{id}",
    "OS::Octavia::LoadBalancer": "/v2/lbaas/loadbalancers/{id}", "OS::Octavia::Listener": "/v2/lbaas/listeners/{id}",
    "OS::Octavia::Pool": "/v2/lbaas/pools/{id}", "OS::Octavia::PoolMember": "/v2/lbaas/pools/{pool}/members/{id}",
    "OS::Octavia::HealthMonitor": "/v2/lbaas/healthmonitors/{id}", "OS::Swift::Container": "/{id}",
}
#: The services by the first parts of these paths.
SERVICES = {"v2.0": "network", "servers": "compute", "flavors": "compute", "volumes": "block-storage",
            "types": "block-storage", "v2": "load-balancer"}


@dataclass(frozen=True, slots=True)
class Step:
    """An update of a stack in place."""

    change: Values
    shown: Values
    at: Values = field(default_factory=dict)
    add: Mapping[str, Any] = field(default_factory=dict)
    moves: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """An update that the service refuses, and its words."""

    change: Values
    said: str


@dataclass(frozen=True, slots=True)
class Story:
    """A stack with its updates."""

    resources: Mapping[str, Any]
    steps: tuple[Step, ...]
    refused: tuple[Refusal, ...]
    replace: Values

    def templates(self) -> Iterator[dict[str, Any]]:
        """Yield the template of the stack, then those of its updates; the last one replaces."""
        resources = copy.deepcopy(dict(self.resources))
        yield _template(resources)
        for step in self.steps:
            resources.update(copy.deepcopy(dict(step.add)))
            _change(resources, step.change)
            yield _template(resources)
        _change(resources, self.replace)
        yield _template(resources)

    def refusals(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the words and the template of each update that the service refuses after the steps."""
        *_, settled, _ = self.templates()
        for one in self.refused:
            template = copy.deepcopy(settled)
            _change(template["resources"], one.change)
            yield one.said, template

    def changed(self) -> dict[str, set[str]]:
        """Return the names of the properties that the steps change, by type."""
        found: dict[str, set[str]] = {}
        for change in (one.change for many in (self.steps, self.refused) for one in many):
            for name, values in change.items():
                found.setdefault(self.resources[name]["type"], set()).update(values)
        return found

    def types_replaced(self) -> set[str]:
        return {self.resources[name]["type"] for name in self.replace}


def names() -> list[str]:
    return sorted(one.stem for one in FOLDER.glob("*.yaml"))


def story(name: str) -> Story:
    """Read a story."""
    data = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    steps = tuple(Step(**{**one, "moves": tuple(one.get("moves", ()))}) for one in data["steps"])
    refused = tuple(Refusal(**one) for one in data.get("refused", ()))
    return Story(data["resources"], steps, refused, data["replace"])


def _template(resources: Mapping[str, Any]) -> dict[str, Any]:
    return copy.deepcopy({"heat_template_version": "2021-04-16", "resources": dict(resources)})


def _change(resources: dict[str, Any], change: Values) -> None:
    for name, values in change.items():
        properties = resources[name].setdefault("properties", {})
        properties.update(values)
        for gone in [key for key, value in properties.items() if value is None]:
            del properties[gone]


def look(document: Any, path: str) -> Any:
    """Return the value to which the keys lead. A key of the document may have dots and colons itself."""
    if path in document:
        return document[path]
    value = document
    keys = path.split(".")
    for number, key in enumerate(keys):
        if key == "*":
            return [look(item, ".".join(keys[number + 1:])) for item in value]
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def agrees(wanted: Any, found: Any) -> bool:
    """Return whether a value is the wanted one. Lists have no order, and the token of the engine is passed over."""
    if isinstance(wanted, Mapping) and set(wanted) == {"has"}:
        return wanted["has"] in found
    return bool(_plain(wanted) == _plain(found))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: one for name, one in value.items() if not _is_token(one)}
    if isinstance(value, list):
        return sorted(json.dumps(one, sort_keys=True) for one in value if not _is_token(one))
    # A description that the template does not give has the token. Numbers of tunnels are texts in templates.
    return "" if _is_token(value) else str(value) if type(value) is int else value


def _is_token(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("isotherm-")
