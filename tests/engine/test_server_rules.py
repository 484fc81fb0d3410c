"""The rules for servers: the options reach the steps, and the path of a nested stack is what schedulers are told."""

from __future__ import annotations

from dataclasses import replace

from isotherm.config import Settings
from isotherm.engine import contexts, stored_ports
from isotherm.resources import contract
from isotherm.resources.context.servers import StackLevel
from tests.engine.conftest import Lab, Tell, resource

GROUP = {"group": {"type": "OS::Heat::ResourceGroup", "properties": {"count": 1, "resource_def": resource()}}}


def test_the_path_of_a_nested_stack_begins_at_the_root_stack(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        root = (await it.create(GROUP))["id"]
        inner = (await it.physical())["group"]
        name = (await it.api.stacks.show(inner))["stack_name"]
        path_of = stored_ports.server_rules(it.engine.store, replace(Settings(), stack_scheduler_hints=True)).path_of
        assert path_of is not None
        assert await path_of(inner) == [StackLevel(root, "s"), StackLevel(inner, name, "group")]
        assert await path_of(root) == [StackLevel(root, "s")]
        assert await path_of("gone") == []
        assert stored_ports.server_rules(it.engine.store, Settings()).path_of is None

    lab(story)


def test_the_options_reach_the_steps(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        settings = replace(Settings(), max_server_name_length=20, stack_scheduler_hints=True)
        base = contexts.shared(it.engine.store, it.engine.clock, contexts.nothing(), settings)
        rules = contexts.leased(base, contract.Unleased(), "p", "1").servers
        assert (rules.name_chars, rules.path_of is None) == (20, False)

    lab(story)
