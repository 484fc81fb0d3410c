"""Trusts with a real Keystone: what they allow, and that none is left over.

Cases 36, 59, 60, 61 and 62 of the abuse cases.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from keystoneauth1 import exceptions, session

from isotherm import errors
from isotherm.config import files
from isotherm.engine.orchestrator import Request, Requester
from isotherm.engine.process.embedded import Embedded, new_id
from isotherm.identity import credentials
from isotherm.identity.caller import Caller
from isotherm.identity.credentials import CredentialStore
from isotherm.identity.trusts import Trusts
from tests import databases
from tools import instance
from tools.identity import seed
from tools.keystone import Keystone

T = TypeVar("T")
EMPTY = "heat_template_version: 2021-04-16"


class Site:
    """An engine, and trusts over a Keystone."""

    def __init__(self, keystone: Keystone, folder: Path, **options: Any) -> None:
        self.keystone = keystone
        self.engine = Embedded(folder)
        settings = dataclasses.replace(self.engine.settings, **options)
        instance.write_options(folder / "x.conf", {"keystone_authtoken": keystone.options()})
        kept = CredentialStore(self.engine.store, self.engine.clock, new_id)
        self.trusts = Trusts(files.opened([str(folder / "x.conf")]), settings, kept)

    def caller(self, name: str) -> Caller:
        person = seed.PEOPLE[name]
        return Caller(self.keystone.project(person.project), self.keystone.user(name), name, frozenset(person.roles),
                      token=self.keystone.token(name))

    async def create(self, caller: Caller, name: str = "s") -> str:
        async with self.trusts.delegated(caller, caller.project) as credential:
            orchestrator = self.engine.orchestrator_for(Requester(caller.project, caller.user_name, credential=credential))
            made = await orchestrator.stacks.create(name, Request(EMPTY))
        return made.stack_id

    async def update(self, caller: Caller, stack_id: str, project: str = "") -> None:
        project = project or caller.project
        async with self.trusts.delegated(caller, project, stack_id) as credential:
            orchestrator = self.engine.orchestrator_for(Requester(project, caller.user_name, credential=credential))
            await orchestrator.stacks.update(stack_id, Request(EMPTY))

    async def delete(self, caller: Caller, stack_id: str) -> None:
        orchestrator = self.engine.orchestrator_for(Requester(caller.project, caller.user_name))
        async with self.engine.driving():
            await orchestrator.stacks.delete(stack_id)
            with contextlib.suppress(errors.NotFound):
                while await orchestrator.stacks.find(stack_id):
                    await asyncio.sleep(0.02)

    def lent(self) -> list[dict[str, Any]]:
        """Return all trusts in Keystone."""
        found: list[dict[str, Any]] = self.keystone.admin().call("GET", "/OS-TRUST/trusts")["trusts"]
        return found


@pytest.fixture
def site(keystone: Keystone, tmp_path: Path) -> Iterator[Callable[..., Site]]:
    opened = []
    end_all(keystone)

    def make(**options: Any) -> Site:
        opened.append(Site(keystone, tmp_path, **options))
        return opened[-1]

    yield make
    for one in opened:
        one.trusts.close()
        one.engine.close()
    end_all(keystone)


def end_all(keystone: Keystone) -> None:
    """Other tests of this process have used the same Keystone."""
    api = keystone.admin()
    for trust in api.call("GET", "/OS-TRUST/trusts")["trusts"]:
        api.call("DELETE", f"/OS-TRUST/trusts/{trust['id']}")


def run(story: Awaitable[T]) -> T:
    async def it() -> T:
        return await story

    return asyncio.run(it())


class TestLending:
    def test_it_is_what_the_user_has_and_cannot_be_passed_on(self, site: Callable[..., Site]) -> None:
        it = site()
        run(it.create(it.caller("demo")))
        (trust,) = it.lent()
        whole = it.keystone.admin().call("GET", f"/OS-TRUST/trusts/{trust['id']}")["trust"]
        assert sorted(role["name"] for role in whole["roles"]) == ["member", "reader"]
        assert (whole["impersonation"], whole["redelegation_count"]) == (True, 0)
        assert whole["trustor_user_id"] == it.keystone.user("demo")
        assert whole["trustee_user_id"] == it.keystone.user("isotherm")
        assert whole["project_id"] == it.keystone.project("demo")

    def test_the_operator_says_which_roles(self, site: Callable[..., Site]) -> None:
        it = site(trusts_delegated_roles=("reader",))
        run(it.create(it.caller("demo")))
        (trust,) = it.lent()
        whole = it.keystone.admin().call("GET", f"/OS-TRUST/trusts/{trust['id']}")["trust"]
        assert [role["name"] for role in whole["roles"]] == ["reader"]

    def test_a_role_that_the_user_lacks_is_told(self, site: Callable[..., Site]) -> None:
        it = site(trusts_delegated_roles=("member", "heat_stack_owner"))
        with pytest.raises(errors.UserError, match=r"Missing required credential: roles \['heat_stack_owner'\]") as caught:
            run(it.create(it.caller("demo")))
        assert caught.value.kind == "MissingCredentialError"

    def test_a_token_that_is_over_lends_nothing(self, site: Callable[..., Site]) -> None:
        it = site()
        with pytest.raises(errors.UserError) as caught:
            run(it.create(dataclasses.replace(it.caller("demo"), token="gAAAAABnothing")))
        assert caught.value.kind == "Forbidden"

    def test_it_is_sealed_where_it_is_kept(self, site: Callable[..., Site]) -> None:
        it = site()
        run(it.create(it.caller("demo")))
        (trust,) = it.lent()
        assert databases.rows(it.engine.path)["credentials"]
        assert trust["id"] not in databases.text(it.engine.path)


class TestUse:
    def test_the_service_acts_as_the_user(self, site: Callable[..., Site]) -> None:
        it = site()
        stack = run(it.create(it.caller("demo")))
        known = session.Session().get_auth_headers(run(it.trusts.authentication(stack)))
        assert known is not None
        body = it.keystone.admin()
        token = seed.Api(body.url, known["X-Auth-Token"]).call("GET", "/auth/projects")
        assert [one["name"] for one in token["projects"]] == ["demo"]

    def test_no_action_for_a_user_that_has_lost_a_role(self, site: Callable[..., Site]) -> None:
        it = site()
        stack = run(it.create(it.caller("colleague")))
        grant = (f"/projects/{it.keystone.project('demo')}/users/{it.keystone.user('colleague')}/roles/"
                 f"{it.keystone.admin().ensure('role', 'member')}")
        it.keystone.admin().call("DELETE", grant)
        try:
            with pytest.raises(exceptions.ClientException):
                session.Session().get_auth_headers(run(it.trusts.authentication(stack)))
        finally:
            it.keystone.admin().call("PUT", grant)

    def test_without_any_it_is_waited_for(self, site: Callable[..., Site]) -> None:
        with pytest.raises(errors.NotBegun, match="No user has lent"):
            run(site().trusts.authentication("00000000-0000-0000-0000-000000000000"))

    def test_it_is_there_as_soon_as_the_stack_is(self, site: Callable[..., Site]) -> None:
        """The accepting transaction binds the trust, so that a fast worker finds it."""
        it = site()

        async def story() -> None:
            caller = it.caller("demo")
            async with it.trusts.delegated(caller, caller.project) as credential:
                orchestrator = it.engine.orchestrator_for(Requester(caller.project, credential=credential))
                made = await orchestrator.stacks.create("s", Request(EMPTY))
                assert await it.trusts.authentication(made.stack_id)

        run(story())


class TestGivingBack:
    def test_nothing_is_left_of_a_request_that_came_to_nothing(self, site: Callable[..., Site]) -> None:
        it = site()

        async def story() -> None:
            caller = it.caller("demo")
            await it.create(caller)
            with pytest.raises(errors.UserError):
                await it.create(caller)

        run(story())
        assert len(it.lent()) == 1

    def test_an_accepted_request_keeps_it_though_its_answer_was_lost(self, site: Callable[..., Site]) -> None:
        it = site()

        async def story() -> None:
            caller = it.caller("demo")
            with pytest.raises(ConnectionError):
                async with it.trusts.delegated(caller, caller.project) as credential:
                    orchestrator = it.engine.orchestrator_for(Requester(caller.project, credential=credential))
                    await orchestrator.stacks.create("s", Request(EMPTY))
                    raise ConnectionError("the answer is lost")
            await it.trusts.sweep()

        run(story())
        assert len(it.lent()) == 1

    @pytest.mark.parametrize("dies", ["after Keystone", "before Keystone"])
    def test_a_process_that_dies_meanwhile_leaves_no_trust(self, site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch,
                                             dies: str) -> None:
        """The row is written before the trust is made, so that a trust with an unknown id is found and deleted."""
        it = site()
        create = Trusts._create

        def dying(trusts: Trusts, asked: Any) -> str:
            if dies == "after Keystone":
                create(trusts, asked)
            raise KeyboardInterrupt

        async def story() -> None:
            caller = it.caller("demo")
            other = await it.create(caller, "other")
            monkeypatch.setattr(Trusts, "_create", dying)
            with pytest.raises(KeyboardInterrupt):
                async with it.trusts.delegated(caller, caller.project):
                    raise AssertionError("it died before")
            await it.trusts.sweep()
            assert len(it.lent()) == (2 if dies == "after Keystone" else 1), "the request may still be under way"
            monkeypatch.setattr(credentials, "_UNBOUND_S", -1.0)
            await it.trusts.sweep()
            assert await it.trusts._credentials.useless() == []
            assert await it.trusts.authentication(other)

        run(story())
        assert len(it.lent()) == 1
        assert len(databases.rows(it.engine.path)["credentials"]) == 1

    def test_the_same_user_lends_once(self, site: Callable[..., Site]) -> None:
        it = site()

        async def story() -> None:
            caller = it.caller("demo")
            await it.update(caller, await it.create(caller))
            await it.trusts.sweep()

        run(story())
        assert len(it.lent()) == 1

    def test_another_user_takes_over(self, site: Callable[..., Site]) -> None:
        it = site()

        async def story() -> None:
            await it.update(it.caller("colleague"), await it.create(it.caller("demo")))
            await it.trusts.sweep()

        run(story())
        assert [one["trustor_user_id"] for one in it.lent()] == [it.keystone.user("colleague")]

    def test_an_administrator_of_another_project_lends_nothing(self, site: Callable[..., Site]) -> None:
        it = site()

        async def story() -> None:
            stack = await it.create(it.caller("demo"))
            await it.update(it.caller("admin"), stack, it.keystone.project("demo"))

        run(story())
        assert [one["trustor_user_id"] for one in it.lent()] == [it.keystone.user("demo")]

    def test_a_stack_that_is_gone_leaves_none(self, site: Callable[..., Site]) -> None:
        it = site()

        async def story() -> None:
            caller = it.caller("demo")
            stack = await it.create(caller)
            await it.trusts.sweep()
            assert len(it.lent()) == 1
            await it.delete(caller, stack)
            await it.trusts.sweep()

        run(story())
        assert it.lent() == []

    def test_what_keystone_has_ended_is_forgotten(self, site: Callable[..., Site]) -> None:
        it = site()

        async def story() -> None:
            caller = it.caller("demo")
            stack = await it.create(caller)
            (trust,) = it.lent()
            it.keystone.admin().call("DELETE", f"/OS-TRUST/trusts/{trust['id']}")
            await it.delete(caller, stack)
            await it.trusts.sweep()
            assert await it.trusts._credentials.useless() == []

        run(story())
