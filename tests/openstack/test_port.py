"""The port to OpenStack: tokens, endpoints, repetitions and lost answers, against a server that behaves on demand."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from isotherm import errors
from isotherm.clock import SystemClock
from isotherm.config import Settings
from isotherm.resources.context.local_access import Call
from isotherm.resources.openstack.port import clouds_yaml
from isotherm.resources.openstack.port.access import CloudAccess, Login, Named
from isotherm.resources.openstack.port.cloud import CloudPort, OpenStackCloud
from tests import fake_openstack, patience
from tests.clouds import CloudProject
from tests.fake_openstack import Server

USER = Login("password", Named(name="demo"), "secret", project=Named(name="demo"))


Story = Callable[[Server, OpenStackCloud], Awaitable[None]]


def tell(story: Story, *, login: Login = USER, settings: Settings | None = None, **more: Any) -> Server:
    """Run a story with a cloud whose services the server plays."""
    async def run() -> Server:
        async with fake_openstack.serving() as server:
            access = CloudAccess(f"{server.url}/v3", login, **{"region": "one", **more})
            await story(server, OpenStackCloud(CloudPort(settings or Settings(), server.clock), access))
        return server

    return asyncio.run(run())


def get(url: str = "/networks") -> Call:
    return Call("GET", url)


def post(**more: Any) -> Call:
    return Call("POST", "/networks", {}, b"{}", **more)


def test_a_call_has_a_token_a_request_id_and_the_version_in_its_url() -> None:
    async def story(server: Server, cloud: OpenStackCloud) -> None:
        assert (await cloud.call("network", get("/networks?name=a%2Fb"))).status == 200
        await cloud.call("block-storage", get("/volumes"))
        await cloud.call("object-store", get("/box/thing%20one"))

    server = tell(story)
    assert [path for _, path, _ in server.calls] == [
        "/one/public/v2.0/networks?name=a%2Fb", "/one/public/v3/p1/volumes", "/one/public/v1/AUTH_p1/box/thing%20one"]
    sent = server.calls[0][2]
    assert sent["X-Auth-Token"] == "token-1"
    assert sent["X-OpenStack-Request-ID"].startswith("req-")
    assert server.logins == [{"auth": {
        "identity": {"methods": ["password"],
                     "password": {"user": {"name": "demo", "domain": {"id": "default"}, "password": "secret"}}},
        "scope": {"project": {"name": "demo", "domain": {"id": "default"}}}}}]


def test_region_and_interface_choose_the_endpoint() -> None:
    async def story(server: Server, cloud: OpenStackCloud) -> None:
        await cloud.call("network", get())

    assert tell(story, region="two", interface="internal").calls[0][1] == "/two/internal/v2.0/networks"
    assert tell(story, region="").calls[0][1] == "/one/public/v2.0/networks"


def test_many_calls_ask_for_one_token_and_for_another_one_when_it_is_refused() -> None:
    async def story(server: Server, cloud: OpenStackCloud) -> None:
        await asyncio.gather(*(cloud.call("network", get()) for _ in range(20)))
        assert len(server.logins) == 1
        server.revoked.add("token-1")
        replies = await asyncio.gather(*(cloud.call("network", post()) for _ in range(20)))
        assert {reply.status for reply in replies} == {200}

    assert len(tell(story).logins) == 2, "one for all calls that were refused"


def test_a_call_is_repeated_once_with_a_new_token_and_its_refusal_is_returned() -> None:
    async def story(server: Server, cloud: OpenStackCloud) -> None:
        server.answers = [401, 401]
        assert (await cloud.call("network", get())).status == 401

    assert len(tell(story).calls) == 2


def test_a_token_is_renewed_two_minutes_before_it_expires() -> None:
    async def story(server: Server, cloud: OpenStackCloud) -> None:
        for passed_s, logins in ((0.0, 1), (3600.0 - 121, 1), (2.0, 2)):
            server.clock.time += passed_s
            await cloud.call("network", get())
            assert len(server.logins) == logins

    tell(story)


def test_a_cancelled_call_leaves_the_token_to_the_others() -> None:
    async def story(server: Server, cloud: OpenStackCloud) -> None:
        first = asyncio.create_task(cloud.call("network", get()))
        second = asyncio.create_task(cloud.call("network", get()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).status == 200

    assert len(tell(story).logins) == 1


def test_reads_are_repeated_and_writes_are_not() -> None:
    async def story(server: Server, cloud: OpenStackCloud) -> None:
        server.answers = [503, 502, "lost"]
        assert (await cloud.call("network", get())).status == 200
        assert len(server.calls) >= 4
        server.calls.clear()
        server.answers = [503]
        assert (await cloud.call("network", post())).status == 503
        assert len(server.calls) == 1

    tell(story)


def test_a_read_of_a_service_that_stays_busy_ends_with_its_reply() -> None:
    async def story(server: Server, cloud: OpenStackCloud) -> None:
        server.answers = [503] * 10
        assert (await cloud.call("network", get())).status == 503

    assert len(tell(story, settings=Settings(client_retry_limit=1)).calls) == 2


def test_a_write_without_an_answer_is_unknown() -> None:
    async def story(server: Server, cloud: OpenStackCloud) -> None:
        server.answers = ["lost"]
        with pytest.raises(errors.Temporary) as lost:
            await cloud.call("network", post())
        server.slow = asyncio.Event()
        with pytest.raises(errors.Temporary) as late:
            await cloud.call("network", post(timeout_s=0.05))
        server.slow.set()
        assert not isinstance(lost.value, errors.NotBegun)
        assert not isinstance(late.value, errors.NotBegun)

    assert len(tell(story).calls) == 2


def test_calls_begin_no_faster_than_the_operator_allows() -> None:
    rate, calls = 50.0, 11

    async def story(server: Server, cloud: OpenStackCloud) -> None:
        # The token, and the first call of another service, whose rate is its own.
        await cloud.call("block-storage", get("/volumes"))
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await asyncio.gather(*[cloud.call("network", get()) for _ in range(calls)])
        # The first begins at once. Timers of a loop may come a little early.
        assert loop.time() - begun >= (calls - 1) / rate - 0.01

    assert len(tell(story, settings=Settings(client_rate=rate)).calls) == calls + 1


def test_calls_run_side_by_side_up_to_a_limit_for_each_service() -> None:
    most = 3

    async def story(server: Server, cloud: OpenStackCloud) -> None:
        async def no_more() -> bool:
            return len(server.calls) == most + 1

        server.slow = asyncio.Event()
        waiting = [asyncio.create_task(cloud.call("network", get())) for _ in range(most * 2)]
        other = asyncio.create_task(cloud.call("block-storage", get("/volumes")))
        await patience.holds(lambda: len(server.calls) == most + 1)
        await patience.stays(no_more)
        server.slow.set()
        assert {(await one).status for one in [*waiting, other]} == {200}

    assert len(tell(story, settings=Settings(client_concurrency=most)).calls) == most * 2 + 1


def test_a_write_that_never_left_has_not_begun() -> None:
    async def story(server: Server, cloud: OpenStackCloud) -> None:
        with pytest.raises(errors.NotBegun):
            await cloud.call("image", post())

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound, and nothing listens
        server = tell(story, endpoints=(("image", f"http://127.0.0.1:{closed.getsockname()[1]}"),))
    assert server.calls == []


def test_a_write_that_waits_for_its_turn_in_vain_has_not_begun() -> None:
    async def story(server: Server, cloud: OpenStackCloud) -> None:
        server.slow = asyncio.Event()
        first = asyncio.create_task(cloud.call("network", post()))
        while not server.calls:
            await asyncio.sleep(0.001)
        with pytest.raises(errors.NotBegun):
            await cloud.call("network", post(timeout_s=0.05))
        server.slow.set()
        assert (await first).status == 200

    assert len(tell(story, settings=Settings(client_concurrency=1)).calls) == 1


def test_the_lease_is_checked_before_a_write_is_sent_and_not_for_a_read() -> None:
    def expired() -> None:
        raise errors.Superseded("the lease has run out")

    async def story(server: Server, cloud: OpenStackCloud) -> None:
        with pytest.raises(errors.Superseded):
            await cloud.call("network", post(check=expired))
        assert server.calls == []
        assert (await cloud.call("network", Call("GET", "/networks", check=expired))).status == 200

    tell(story)


def test_a_body_that_is_too_large_is_refused() -> None:
    async def story(server: Server, cloud: OpenStackCloud) -> None:
        with pytest.raises(errors.Permanent, match="more than 1000 bytes"):
            await cloud.call("network", get())

    # The token itself is larger.
    tell(story, settings=Settings(max_json_body_size=1000))


def test_a_service_that_is_not_in_the_catalogue_is_named_with_those_that_are() -> None:
    async def story(server: Server, cloud: OpenStackCloud) -> None:
        with pytest.raises(errors.Permanent) as missing:
            await cloud.call("dns", get())
        for fact in ("dns", "region one", "network, object-store, volumev3"):
            assert fact in str(missing.value)

    tell(story)


@pytest.mark.parametrize(("refusal", "login", "kind", "words"), [
    ((401, "Bad password."), USER, errors.Permanent, ("Bad password.", "user demo", "project demo")),
    ((500, "Oops."), USER, errors.NotBegun, ("Oops.",)),
    ((404, "Could not find trust."), Login("password", Named("u"), "x", trust="t1"), errors.Permanent,
     ("Could not find trust.", "Update the stack")),
])
def test_a_refusal_of_keystone_says_what_to_do(
    refusal: tuple[int, str], login: Login, kind: type[Exception], words: tuple[str, ...]
) -> None:
    async def story(server: Server, cloud: OpenStackCloud) -> None:
        server.refusal = refusal
        with pytest.raises(kind) as refused:
            await cloud.call("network", get())
        assert all(word in str(refused.value) for word in words), str(refused.value)
        assert "secret" not in str(refused.value)

    tell(story, login=login)


def test_logins_of_other_kinds() -> None:
    async def story(server: Server, cloud: OpenStackCloud) -> None:
        await cloud.call("network", get())

    trust = tell(story, login=Login("password", Named("u1"), "x", project=Named("p"), trust="t1")).logins[0]["auth"]
    assert trust["scope"] == {"OS-TRUST:trust": {"id": "t1"}}, "no project beside a trust"
    made = Login("application_credential", secret="s", application=Named("a1"))
    assert tell(story, login=made).logins == [{"auth": {"identity": {
        "methods": ["application_credential"], "application_credential": {"id": "a1", "secret": "s"}}}}]
    given = tell(story, login=Login("token", secret="mine"))
    assert given.logins == [{"validated": "mine"}]
    assert given.calls[0][2]["X-Auth-Token"] == "mine"


def test_the_key_of_an_access_tells_secrets_apart_and_shows_none() -> None:
    one, other = (CloudAccess("http://k/v3", Login("password", Named("u"), secret)) for secret in ("a1b2c3", "d4e5f6"))
    assert one.key != other.key
    assert one.key == CloudAccess("http://k/v3", Login("password", Named("u"), "a1b2c3")).key
    assert "a1b2c3" not in one.key + repr(one)


@pytest.mark.short
def test_a_real_cloud_is_called_and_changed(cloud_project: CloudProject) -> None:
    async def story() -> None:
        access = clouds_yaml.read(cloud_project.cloud, cloud_project.environment)
        cloud = OpenStackCloud(CloudPort(Settings(), SystemClock()), access)
        token = await cloud.port.token(access)
        assert (token.project_id, token.user_id) == (cloud_project.id, cloud_project.user_id)
        body = json.dumps({"network": {"name": "made-by-the-port"}}).encode()
        made = json.loads((await cloud.call("network", Call("POST", "/networks", {}, body))).body)["network"]
        assert cloud_project.sdk.network.get_network(made["id"]).name == "made-by-the-port"
        for service, url in (("compute", "/servers"), ("image", "/images"), ("block-storage", "/volumes"),
                             ("identity", "/auth/projects"), ("object-store", "/?format=json")):
            assert (await cloud.call(service, Call("GET", url))).status in (200, 204), service
        assert (await cloud.call("network", Call("DELETE", f"/networks/{made['id']}"))).status == 204
        assert (await cloud.call("network", Call("GET", f"/networks/{made['id']}"))).status == 404

    asyncio.run(story())
