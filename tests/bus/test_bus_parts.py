"""The bus without a broker: addresses, messages, the outbox, and the bus of one process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from isotherm import bus, config, errors
from isotherm.bus import address, wire
from isotherm.bus.outbox import BATCH, MOST, Outbox, OutgoingMessage
from tests.bus.conftest import Broken, Listener, Story
from tests.patience import PATIENCE_S


@pytest.mark.parametrize(("url", "expected"), [
    ("amqp://", None), ("amqp://one", ("one", 5672, "guest", "guest", "/", False)),
    ("rabbit://u:p@one:99/v", ("one", 99, "u", "p", "v", False)),
    ("amqp://u:p@one/", ("one", 5672, "u", "p", "/", False)), ("amqp://u:p@one//", ("one", 5672, "u", "p", "/", False)),
    ("amqp://u:p@one/a%2Fb", ("one", 5672, "u", "p", "a/b", False)),
    ("amqps://u:p@one", ("one", 5671, "u", "p", "/", True)),
    ("rabbit://u:p@one/v?ssl=1&rpc=x", ("one", 5671, "u", "p", "v", True)),
    ("rabbit://u:p%40%2F%3A@[::1]:5/", ("::1", 5, "u", "p@/:", "/", False)),
    ("rabbit://u:p@q@one/", ("one", 5672, "u", "p@q", "/", False)),
])
def test_a_broker_is_named_as_openstack_and_amqp_do(url: Any, expected: Any) -> None:
    if expected is None:
        with pytest.raises(errors.UserError):
            address.parse(url)
        return
    (found,) = address.parse(url)
    assert (found.host, found.port, found.user, found.password, found.vhost, found.tls) == expected


def test_a_cluster_is_named_with_commas() -> None:
    found = address.parse("rabbit://u:p@one:1,v:q@two/vhost")
    assert [(str(one), one.user, one.vhost) for one in found] == [("one:1", "u", "vhost"), ("two:5672", "v", "vhost")]


@pytest.mark.parametrize("url", ["kombu+memory://u:MARKER@one/", "one:5672", "rabbit://u:MARKER@one:x/",
                                 "rabbit://u:MARKER@one:70000/", "rabbit://u:MARKER@one,u:MARKER@/", "fake://"])
def test_what_is_no_broker_is_refused_without_its_password(url: Any) -> None:
    with pytest.raises(errors.UserError, match="transport_url") as error:
        bus.of(url)
    assert "MARKER" not in str(error.value)


def test_no_password_is_in_the_picture_of_an_address_or_of_the_settings(tmp_path: Path) -> None:
    (found,) = address.parse("rabbit://u:MARKER@one/")
    assert "MARKER" not in repr(found) + str(found) + found.censored("refused MARKER")
    file = tmp_path / "heat.conf"
    file.write_text("[DEFAULT]\ntransport_url = rabbit://u:MARKER@one/\n")
    settings = config.load(file)
    assert settings.transport_url.endswith("one/") and "MARKER" not in repr(settings)


def test_without_a_url_the_bus_is_that_of_the_process() -> None:
    assert isinstance(bus.of(config.Settings().transport_url), bus.LocalBus)


def test_a_message_comes_as_it_went() -> None:
    found = wire.decode(wire.encode("me", ["a", "b"]))
    assert (found.sender, found.stacks) == ("me", ("a", "b"))


def test_fields_of_a_later_time_are_passed_over() -> None:
    assert wire.decode(b'{"v":1,"sender":"x","stacks":["a"],"more":{"deep":[1]}}').stacks == ("a",)
    assert wire.decode(b'{"v":1}').stacks == ()


@pytest.mark.parametrize("body", [
    b"", b"null", b"[]", b"7", b"\xff\xfe", b"{", b'{"v":"1"}', b'{"stacks":["a"]}', b'{"v":2,"stacks":7}',
    b'{"v":1,"stacks":"a"}', b'{"v":1,"stacks":[1]}', b'{"v":1,"sender":null}', b"[" * 60_000,
    b'{"v":1,"x":' + b"[" * 60_000, b'{"v":1,"sender":"' + b"x" * wire.MOST_BYTES + b'"}'])
def test_what_is_no_message_of_ours_is_refused(body: Any) -> None:
    with pytest.raises(wire.MessageRefused):
        wire.decode(body)


@pytest.mark.parametrize(("body", "good"), [
    (b'{"any":"thing"}', True), (b'{"v":1}', True), (b'{"v":2}', False), (b"[]", False), (b'{"a":' * 20_000, False)])
def test_a_hint_may_be_any_object(body: Any, good: Any) -> None:
    if good:
        assert wire.hint(body)
        return
    with pytest.raises(wire.MessageRefused):
        wire.hint(body)


def letters(outbox: Any, count: Any) -> Any:
    async def taken() -> Any:
        return [await asyncio.wait_for(outbox.next(), PATIENCE_S) for _ in range(count)]

    return asyncio.run(taken())


def test_what_is_told_together_goes_together_and_once() -> None:
    outbox = Outbox(bus.Counts())
    outbox.call_for_help()
    outbox.announce(("a", "b"))
    outbox.announce(("c", "a"))
    outbox.call_for_help()
    assert letters(outbox, 2) == [OutgoingMessage(("b", "c", "a")), OutgoingMessage()]


def test_many_stacks_go_in_several_messages() -> None:
    outbox = Outbox(bus.Counts())
    outbox.announce(tuple(map(str, range(BATCH + 1))))
    assert [len(one.stacks) for one in letters(outbox, 2)] == [BATCH, 1]


@pytest.mark.parametrize("at_once", [True, False])
def test_while_nothing_goes_the_newest_are_kept(at_once: Any) -> None:
    counts = bus.Counts()
    outbox = Outbox(counts)
    names = tuple(map(str, range(MOST + 500)))
    for part in [names] if at_once else zip(names, strict=True):
        outbox.announce(part)
    assert counts.dropped == 500
    found = [stack for letter in letters(outbox, MOST // BATCH) for stack in letter.stacks]
    assert tuple(found) == names[500:]


def test_what_was_not_sent_goes_again_and_before_the_newer() -> None:
    counts = bus.Counts()
    outbox = Outbox(counts)
    outbox.announce(("a", "b"))
    (letter,) = letters(outbox, 1)
    outbox.announce(("c",))
    outbox.was_not_sent(letter)
    outbox.was_not_sent(OutgoingMessage())
    assert letters(outbox, 2) == [OutgoingMessage(("a", "b", "c")), OutgoingMessage()]
    assert counts.dropped == 0


def test_in_one_process_news_are_heard_at_once(story: Story) -> None:
    async def it() -> None:
        here, ears = bus.of(""), Listener()
        here.announce(["too early"])
        async with here.listening(ears):
            here.announce(["a", "b"])
            assert ears.heard == ["a", "b"]
            here.call_for_help()
            here.capacity_changed()
            assert ears.came == 0 and here.connected
        here.announce(["too late"])
        assert ears.heard == ["a", "b"]

    story(it())


def test_another_thread_is_heard_on_the_loop(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    async def it() -> None:
        here = bus.of("")
        where: list[threading.Thread] = []
        ears = Listener()
        monkeypatch.setattr(ears, "stacks_changed", lambda stack_ids: where.append(threading.current_thread()))
        async with here.listening(ears):
            await asyncio.to_thread(here.announce, ["a"])
            await asyncio.sleep(0)
        assert where == [threading.current_thread()]

    story(it())


def test_a_listener_that_fails_stops_no_other(story: Story, told: Callable[[], list[str]]) -> None:
    async def it() -> None:
        here = bus.of("")
        async with here.listening(Broken()):
            here.announce(["a"])

    story(it())
    assert len(told()) == 1 and "a listener failed on a message" in told()[0]


def test_one_process_listens_once(story: Story) -> None:
    async def it() -> None:
        here = bus.of("")
        async with here.listening(Listener()):
            with pytest.raises(errors.Bug):
                await here.listening(Listener()).__aenter__()

    story(it())
