"""Credentials that users lend: bound by the transaction that accepts an operation, and waited for where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from isotherm import errors
from isotherm.engine.process.embedded import new_id
from isotherm.identity.credentials import CredentialStore
from isotherm.identity.requester import Requester
from isotherm.resources import builtin, contract
from isotherm.resources.heat.test_resource import TestResource
from isotherm.store import credentials
from tests.engine.conftest import Lab, Tell, resource


class OfUser(TestResource):
    """Acts in the name of the stack's user, for a service that cannot be searched."""

    TYPE = "Test::OfUser"
    credential_store: CredentialStore

    async def handle_create(self) -> object:
        self.data["as"] = (await self.credential_store.needed(self.stack_id)).user_id
        return await super().handle_create()

    async def find_by_token(self) -> contract.Search:
        return contract.CannotTell()

    async def attribute(self, name: str) -> object:
        return self.data["as"]


@pytest.fixture(autouse=True)
def types() -> Iterator[None]:
    builtin.registry().register(OfUser)
    yield
    del builtin.registry().types[OfUser.TYPE]


OF_USER = {"r": {"type": OfUser.TYPE}}
OUTPUTS = {"as": {"value": {"get_attr": ["r", "output"]}}}


def kept_by(it: Lab) -> CredentialStore:
    OfUser.credential_store = CredentialStore(it.engine.store, it.engine.clock, new_id, again_s=0.02)
    return OfUser.credential_store


async def lent(it: Lab, user: str = "ada") -> str:
    credentials = kept_by(it)
    announced = await credentials.announce("default", user)
    return (await credentials.fill("default", announced, f"secret of {user}")).id


async def outputs(it: Lab) -> Any:
    return [one["output_value"] for one in await it.api.outputs.list("s")]


def test_it_is_bound_on_acceptance(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        it.api = it.engine.orchestrator_for(Requester(credential=await lent(it)))
        stack = await it.create(OF_USER, outputs=OUTPUTS)
        assert stack["status"] == "COMPLETE", stack
        assert await outputs(it) == ["ada"]
        # Another user takes over with an update, and with that alone.
        it.api = it.engine.orchestrator_for(Requester(credential=await lent(it, "bob")))
        await it.end(await it.api.stacks.check("s"))
        assert (await kept_by(it).needed(stack["id"])).user_id == "ada"
        await it.update({"other": resource()})
        assert (await kept_by(it).needed(stack["id"])).user_id == "bob"

    lab(story)


def test_a_request_that_is_refused_binds_nothing(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"r": resource()})
        id_ = await lent(it)
        it.api = it.engine.orchestrator_for(Requester(credential=id_))
        with pytest.raises(errors.Conflict):
            await it.api.stacks.create("s", it.request({"r": resource()}))
        assert not await it.engine.store.read(lambda connection: credentials.is_bound(connection, id_))

    lab(story)


def test_what_was_given_back_meanwhile_is_not_accepted(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        id_ = await lent(it)
        it.api = it.engine.orchestrator_for(Requester(credential=id_))
        await it.engine.store.write(lambda connection: credentials.forget(connection, id_))
        with pytest.raises(errors.Conflict):
            await it.api.stacks.create("s", it.request({"r": resource()}))
        with pytest.raises(errors.NotFound):
            await it.api.stacks.show("s")

    lab(story)


def test_work_that_needs_one_waits_for_it(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        id_ = await lent(it)
        accepted = await it.api.stacks.create("s", it.request({**OF_USER, "other": resource()}, outputs=OUTPUTS))

        async def waits() -> bool:
            shown = {one["resource_name"]: one for one in await it.api.resources.list("s")}
            told = f"No user has lent the service the right to act on stack {accepted.stack_id}"
            return shown["r"]["resource_status"] == "CREATE_IN_PROGRESS" and told in shown["r"]["waits_for"]

        await it.until(waits)
        await it.engine.store.write(lambda connection: credentials.bind(connection, id_, accepted.stack_id))
        stack = await it.end(accepted)
        assert stack["status"] == "COMPLETE", stack
        assert await outputs(it) == ["ada"]

    lab(story)


def test_a_stack_that_a_resource_makes_acts_for_the_user_of_that_stack(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        id_ = await lent(it)
        it.api = it.engine.orchestrator_for(Requester(credential=id_))
        inner = yaml.safe_dump({"heat_template_version": "2021-04-16", "resources": OF_USER, "outputs": OUTPUTS})
        remote = {"type": "OS::Heat::Stack", "properties": {"template": inner}}
        stack = await it.create({"remote": remote}, outputs={"as": {"value": {"get_attr": ["remote", "outputs"]}}})
        assert stack["status"] == "COMPLETE", stack
        assert await outputs(it) == [{"as": "ada"}]
        assert (await it.delete())["status"] == "COMPLETE"

    lab(story)


def test_a_stack_that_waits_for_one_can_be_deleted(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        kept_by(it)
        await it.api.stacks.create("s", it.request(OF_USER))

        async def waits() -> bool:
            return [bool(one["waits_for"]) for one in await it.api.resources.list("s")] == [True]

        await it.until(waits)
        assert (await it.delete())["status"] == "COMPLETE"

    lab(story)
