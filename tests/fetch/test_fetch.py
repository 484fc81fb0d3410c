"""Abuse cases 19 to 24: a URL is fetched, and no other address can be reached through the fetcher."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from pathlib import Path
from typing import Any

import pytest

from isotherm import errors
from isotherm.config import Settings
from isotherm.fetch import AllowedAddresses, Fetcher, UrlRefused
from tests.fetch.misbehaving import TEMPLATE, Server, certificate

LOOPBACK = ("127.0.0.1/32",)
REFUSED = "The URL cannot be fetched by this service."


def fetcher(resolve: Any = None, tls: Any = None, **options: Any) -> Any:
    options = {"allowed_fetch_networks": LOOPBACK, "template_fetch_timeout": 10.0, "max_template_size": 100_000, **options}
    more = {} if resolve is None else {"resolve": resolve}
    return Fetcher(Settings(**options), tls=tls, **more)


def fetched(path: Any, **options: Any) -> Any:
    async def story() -> Any:
        async with Server().running() as server:
            return await fetcher(**options).text(server.url(path)), server

    return asyncio.run(story())


def failed(path: Any, **options: Any) -> Any:
    """Fetch; return the error, the server and the duration."""

    async def story() -> Any:
        async with Server().running() as server:
            begun = time.monotonic()
            with pytest.raises(errors.UserError) as error:
                await fetcher(**options).text(server.url(path))
            return error.value, server, time.monotonic() - begun

    return asyncio.run(story())


def test_a_template_is_fetched() -> None:
    text, server = fetched("/good")
    assert text == TEMPLATE
    assert f"host: 127.0.0.1:{server.port}" in server.heads[0].lower()


# Case 19 and 20.


@pytest.mark.parametrize("url", [
    "file:///etc/passwd", "/dev/zero", "/etc/passwd", "gopher://example.com/", "ftp://example.com/x", "jar:http://x!/",
    "http:///x", "", "://", "http://", "http://exa\nmple.com/", "http://[::1", "http://example.com:99999/",
    "http://127.0.0.1:22/", "http://127.1/", "http://0x7f000001/", "http://2130706433/", "http://0177.0.0.1/",
    "http://0/", "http://localhost/", "http://localhost.localdomain/", "http://[::1]/", "http://[::]/",
    "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/", "http://[fe80::1]/", "http://[fe80::1%25lo]/", "http://10.0.0.1/", "http://172.16.0.1/",
    "http://192.168.1.1/", "http://100.64.0.1/", "http://224.0.0.1/", "http://[ff02::1]/", "http://255.255.255.255/",
    "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://168.63.129.16/", "http://no-such-name.invalid/",
    "http://metadata.google.internal/", "http://user:MARKER@93.184.216.34/", "http://MARKER@93.184.216.34/",
    "http://" + "a" * 10_000 + "/",
])
def test_what_may_not_be_fetched_is_refused_in_one_text(url: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(UrlRefused) as error:
        asyncio.run(fetcher(allowed_fetch_networks=()).text(url))
    assert str(error.value) == REFUSED
    assert error.value.kind == "HTTPBadRequest"
    assert "MARKER" not in caplog.text


def test_nothing_is_connected_to_before_it_is_judged() -> None:
    _, server, _ = failed("/good", allowed_fetch_networks=())
    assert server.asked == []


@pytest.mark.parametrize(("address", "outside"), [
    ("93.184.216.34", True), ("8.8.8.8", True), ("2606:4700::1111", True), ("::ffff:8.8.8.8", True),
    ("100.127.255.255", False), ("198.19.0.1", False), ("192.0.0.8", False), ("0.1.2.3", False), ("fec0::1", False),
    ("fdff::1", False), ("2001:0:1::1", False), ("::127.0.0.1", False), ("not an address", False),
    ("192.0.2.1", False), ("240.0.0.1", False), ("10.9.0.1", True), ("10.10.0.1", False), ("::ffff:10.9.0.1", True),
])
def test_what_is_outside(address: Any, outside: Any) -> None:
    assert AllowedAddresses(("10.9.0.0/16",)).is_outside(address) is outside


def test_a_network_that_is_none_is_said_so() -> None:
    with pytest.raises(errors.UserError, match="allowed_fetch_networks"):
        AllowedAddresses(("10.9.0.1/16",))


# Case 21.


def test_a_redirect_is_followed_when_it_leads_outside() -> None:
    async def story() -> None:
        async with Server().running() as server:
            server.redirect_to = "/good"
            assert await fetcher().text(server.url("/redirect")) == TEMPLATE
            assert server.asked == ["/redirect", "/good"]

    asyncio.run(story())


@pytest.mark.parametrize("location", [
    "http://127.0.0.2:{port}/good", "http://localhost:{port}/good", "file:///etc/passwd", "//169.254.169.254/",
    "http://user:MARKER@127.0.0.1:{port}/good", "gopher://127.0.0.1:{port}/"])
def test_a_redirect_is_judged_like_the_first_hop(location: Any, caplog: pytest.LogCaptureFixture) -> Any:
    caplog.set_level(logging.DEBUG)

    async def answers(host: Any, _port: Any) -> Any:
        return {"127.0.0.1": ["127.0.0.1"], "localhost": ["127.0.0.1", "::1"]}.get(host, [host])

    async def story() -> None:
        async with Server().running() as server:
            server.redirect_to = location.format(port=server.port)
            with pytest.raises(UrlRefused) as error:
                await fetcher(answers).text(server.url("/redirect"))
            assert server.asked == ["/redirect"]
            assert str(error.value) == REFUSED

    asyncio.run(story())
    assert "MARKER" not in caplog.text


def test_redirects_come_to_an_end() -> None:
    error, server, _ = failed("/loop")
    assert "too many redirects" in str(error)
    assert len(server.asked) == 4


def test_a_name_is_resolved_once_and_what_was_checked_is_connected_to() -> Any:
    asked = []

    async def changing(host: Any, _port: Any) -> Any:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.9"]

    async def story() -> None:
        async with Server().running() as server:
            assert await fetcher(changing).text(server.url(host="templates.test")) == TEMPLATE
            assert f"host: templates.test:{server.port}" in server.heads[0].lower()

    asyncio.run(story())
    assert asked == ["templates.test"]


def test_one_bad_address_of_a_name_is_enough() -> Any:
    async def mixed(_host: Any, _port: Any) -> Any:
        return ["127.0.0.1", "10.0.0.1"]

    async def story() -> None:
        async with Server().running() as server:
            with pytest.raises(UrlRefused):
                await fetcher(mixed).text(server.url(host="templates.test"))
            assert server.asked == []

    asyncio.run(story())


@pytest.mark.parametrize(("name", "right"), [("templates.test", True), ("others.test", False)])
def test_tls_is_for_the_name_and_not_for_the_address(tmp_path: Path, name: Any, right: Any) -> Any:
    file = certificate(tmp_path, "templates.test")
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(file)
    trusting = ssl.create_default_context(cafile=str(file))

    async def here(_host: Any, _port: Any) -> Any:
        return ["127.0.0.1"]

    async def story() -> None:
        async with Server().running(serving) as server:
            url = f"https://{name}:{server.port}/good"
            if right:
                assert await fetcher(here, trusting).text(url) == TEMPLATE
            else:
                with pytest.raises(errors.UserError, match="does not answer"):
                    await fetcher(here, trusting).text(url)
                assert server.asked == []

    asyncio.run(story())


# Case 22.


@pytest.mark.parametrize("path", ["/drip", "/drip-head", "/silent"])
def test_time_is_limited_as_a_whole(path: Any) -> None:
    error, _, took = failed(path, template_fetch_timeout=0.5)
    assert "longer than 0.5 seconds" in str(error)
    assert took < 30.0


def test_size_is_limited_while_it_comes() -> None:
    error, server, _ = failed("/endless")
    assert error.kind == "DownloadLimitExceeded"
    assert "(100000 bytes)" in str(error)
    assert server.sent < 10_000_000


@pytest.mark.parametrize(("path", "why"), [
    ("/huge-head", "does not speak HTTP"), ("/says-more", "does not speak HTTP"), ("/nonsense", "does not speak HTTP"),
    ("/bomb", "compressed"), ("/missing", "answered 404"), ("/binary", "not UTF-8"),
])
def test_a_server_that_misbehaves_is_an_error_that_tells_so(path: Any, why: Any) -> None:
    error, _, took = failed(path)
    assert why in str(error)
    assert error.kind == "HTTPBadRequest"
    assert "MARKER" not in str(error)
    assert took < 30.0


def test_more_than_was_announced_is_not_read() -> None:
    """Whether it is refused depends on what of it has come when the announced part is complete."""
    try:
        text, _ = fetched("/says-less")
    except errors.UserError as error:
        assert "does not speak HTTP" in str(error)
    else:
        assert text == TEMPLATE


def test_a_limit_is_a_limit() -> None:
    assert fetched("/good", max_template_size=len(TEMPLATE))[0] == TEMPLATE
    assert failed("/good", max_template_size=len(TEMPLATE) - 1)[0].kind == "DownloadLimitExceeded"


# Case 23.


@pytest.mark.parametrize("path", ["/missing?token=MARKER", "/silent?token=MARKER"])
def test_a_url_is_in_no_message_and_in_no_log(path: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    error, _, _ = failed(path, template_fetch_timeout=0.5)
    assert "MARKER" not in str(error) + repr(error) + caplog.text
    assert error.__cause__ is None
