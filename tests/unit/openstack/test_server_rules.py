"""The options on the names of servers, and on what schedulers are told."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from isotherm.resources import contract
from isotherm.resources.aws.ec2.instance import Instance
from isotherm.resources.context.local_access import Call, Reply
from isotherm.resources.context.servers import ServerRules, StackLevel
from isotherm.resources.openstack.cinder.volume import Volume
from isotherm.resources.openstack.neutron.net import Net
from isotherm.resources.openstack.nova.server import Server
from isotherm.resources.openstack.table_object import TableObject
from isotherm.resources.reality.journal import MemoryReality
from isotherm.sim.world.twin import reply

TOKEN = "0123456789abcdef0123456789abcdef"
SERVER = {"image": "i", "flavor": "f", "networks": [{"allocate_network": "none"}], "scheduler_hints": {"group": "g"}}
TOLD = {
    "heat_root_stack_id": "1", "heat_stack_id": "2", "heat_stack_name": "s-group-x",
    "heat_path_in_stack": [[None, "s"], ["group", "s-group-x"]], "heat_resource_name": "web", "heat_resource_uuid": TOKEN,
}


class Clock:
    def now(self) -> float:
        return 1000.0


@dataclass
class Cloud:
    """Services that make whatever they are asked for."""

    bodies: list[Any] = field(default_factory=list)
    credential: contract.Credential = field(default_factory=lambda: contract.Credential("one", "p"))

    def of_stack(self, stack_id: str) -> Cloud:
        return self

    async def call(self, service: str, call: Call) -> Reply:
        assert call.method == "POST"
        self.bodies.append(json.loads(call.body))
        return reply(202, {next(iter(self.bodies[-1])): {"id": "made"}})


async def path_of(stack_id: str) -> Sequence[StackLevel]:
    assert stack_id == "2"
    return [StackLevel("1", "s"), StackLevel("2", "s-group-x", "group")]


def resource(of: type[TableObject], cloud: Cloud, rules: ServerRules, name: str = "web", **given: Any) -> Any:
    port: Any = cloud
    context = contract.Context(clock=Clock(), random=random.Random(1), reality=MemoryReality(), cloud=port, servers=rules)
    defaults = {name: one.default for name, one in of.properties_schema.items()}
    return of(contract.ResourceState(name=name, stack_name="s-group-x", stack_id="2", token=TOKEN,
                                     properties=defaults | given), context)


def sent(of: type[TableObject], rules: ServerRules, **given: Any) -> Any:
    """Return the body of the request that creates the object."""
    cloud = Cloud()
    asyncio.run(resource(of, cloud, rules, **given).handle_create())
    return cloud.bodies[-1]


def test_schedulers_are_told_where_an_object_belongs() -> None:
    rules = ServerRules(path_of=path_of)
    assert sent(Server, rules, **SERVER)["os:scheduler_hints"] == {"group": "g", **TOLD}
    assert sent(Volume, rules, size=1)["OS-SCH-HNT:scheduler_hints"] == TOLD


def test_schedulers_are_told_nothing_unless_the_operator_wants_it() -> None:
    assert sent(Server, ServerRules(), **SERVER)["os:scheduler_hints"] == {"group": "g"}
    assert "OS-SCH-HNT:scheduler_hints" not in sent(Volume, ServerRules(), size=1)


@pytest.mark.parametrize("of", [Server, Instance])
@pytest.mark.parametrize(("limit", "expected"), [
    (53, "s--" + "w" * 37 + f"-{TOKEN[-12:]}"), (20, "s--wwww-" + TOKEN[-12:]), (4, "s--f"), (3, "def"), (1, "f"),
    (0, "s-group-x-" + "w" * 60 + f"-{TOKEN[-12:]}")])
def test_the_end_of_a_name_survives(of: type[TableObject], limit: int, expected: str) -> None:
    given = {"InstanceType": "f", "ImageId": "i"} if of is Instance else {}
    assert resource(of, Cloud(), ServerRules(limit), "w" * 60, **given).default_name == expected


def test_other_objects_keep_their_names() -> None:
    assert len(resource(Net, Cloud(), ServerRules(20), "w" * 60).default_name) == 83
