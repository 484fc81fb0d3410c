"""The bus over a real broker: the receivers of messages, the acknowledgement of calls, and broken connections."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from isotherm import bus
from isotherm.bus import wire
from tests.bus.conftest import (
    Between,
    Broken,
    Broker,
    Listener,
    Story,
    connected,
    on_the_broker,
    publish,
    stays,
    until,
    until_queued,
    url_at,
)


@contextlib.asynccontextmanager
async def process(url: Any, *stacks: Any) -> AsyncIterator[Any]:
    """Another process on the same broker; killed in the end if it was not before."""
    made = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bus.process", url, *stacks, stdout=subprocess.PIPE)
    try:
        assert made.stdout is not None
        assert await made.stdout.readline() == b"connected\n"
        yield made
    finally:
        if made.returncode is None:
            made.kill()
        await made.wait()


async def purge(url: Any) -> Any:
    async def it(channel: Any) -> Any:
        return await (await channel.get_queue("isotherm.work")).purge()

    return (await on_the_broker(url, it)).message_count


def test_all_others_hear_news_in_few_messages(story: Story, broker: Broker) -> None:
    async def it() -> None:
        one, two, three = (bus.of(broker.url) for _ in range(3))
        ears = [Listener(room=False) for _ in range(3)]
        async with one.listening(ears[0]), two.listening(ears[1]), three.listening(ears[2]):
            await connected(one, two, three)
            one.announce(["a", "b"])
            one.announce(["c"])
            await until(lambda: len(ears[1].heard) == len(ears[2].heard) == 3 and one.counts.published)
            assert [set(one.heard) for one in ears] == [{"a", "b", "c"}] * 3
            assert one.counts.published == two.counts.received == 1 and one.counts.received == 0
            two.announce(many := [str(number) for number in range(1000)])
            await until(lambda: len(ears[0].heard) == len(ears[2].heard) == 1003 and two.counts.published == 5)
            assert ears[0].heard[3:] == many

    story(it())


def test_processes_hear_each_other(story: Story, broker: Broker) -> None:
    async def it() -> None:
        here, ears = bus.of(broker.url), Listener(room=False)
        async with here.listening(ears):
            await connected(here)
            async with process(broker.url, "theirs") as other:
                await until(lambda: ears.heard == ["theirs"])
                assert await other.stdout.readline() == b"news theirs\n"
                here.announce(["ours"])
                assert await other.stdout.readline() == b"news ours\n"

    story(it())


def test_all_messages_of_a_process_that_only_sends_arrive(story: Story, broker: Broker) -> None:
    async def it() -> None:
        here, there, ears = bus.of(broker.url), bus.of(broker.url), Listener(room=False)
        async with here.listening(ears):
            await connected(here)
            async with there.listening():
                there.announce(["last words"])
            await until(lambda: ears.heard == ["last words"])

    story(it())


def test_one_with_room_comes_and_none_without(story: Story, broker: Broker) -> None:
    async def it() -> None:
        full, free = bus.of(broker.url), bus.of(broker.url)
        no, yes = Listener(room=False), Listener()
        async with full.listening(no), free.listening(yes):
            await connected(full, free)
            for number in range(1, 6):
                full.call_for_help()
                await until(partial(lambda count: yes.came == count, number))
            yes.has_room = False
            free.capacity_changed()
            await until_queued(broker.url, messages=0, consumers=0)
            full.call_for_help()
            await until_queued(broker.url, messages=1, consumers=0)
            assert (no.came, yes.came) == (0, 5)
            no.has_room = True
            full.capacity_changed()
            await until(lambda: no.came == 1)
            assert yes.came == 5

    story(it())


def test_calls_for_help_are_gathered(story: Story, broker: Broker) -> None:
    async def it() -> None:
        full, free, yes = bus.of(broker.url), bus.of(broker.url), Listener()
        async with full.listening(Listener(room=False)), free.listening(yes):
            await connected(full, free)
            for _ in range(1000):
                full.call_for_help()
            await until(lambda: yes.came)
            await stays(lambda: yes.came == 1)
            assert full.counts.published == 1

    story(it())


def test_room_is_asked_for_after_each_call(story: Story, broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    async def it() -> None:
        full, free, yes = bus.of(broker.url), bus.of(broker.url), Listener()
        monkeypatch.setattr(yes, "has_capacity", lambda: yes.came < 2)
        async with full.listening(Listener(room=False)), free.listening(yes):
            await connected(full, free)
            for number in range(1, 5):
                full.call_for_help()
                await until(partial(lambda count: full.counts.published == count, number))
            await until(lambda: yes.came == 2)
            await until_queued(broker.url, messages=2, consumers=0)
            assert yes.came == 2

    story(it())


def test_a_call_that_finds_no_room_goes_to_another(story: Story, broker: Broker) -> None:
    async def it() -> None:
        here, other = bus.of(broker.url), bus.of(broker.url)
        ours, theirs = Listener(room=False), Listener()
        async with here.listening(ours), other.listening(theirs):
            await connected(here, other)
            here.call_for_help()
            await until(lambda: theirs.came == 1)
            # The worker is full now, and has not announced that yet.
            theirs.has_room = False
            here.call_for_help()
            await until(lambda: here.counts.published == 2)
            ours.has_room = True
            here.capacity_changed()
            await until(lambda: ours.came == 1)
            assert theirs.came == 1

    story(it())


def test_a_call_is_answered_when_the_turn_is_over_and_not_before(story: Story, broker: Broker) -> None:
    """A process that is killed in the middle has not answered: another one gets the call."""
    async def it() -> None:
        here, ears = bus.of(broker.url), Listener(room=False)
        async with here.listening(ears):
            await connected(here)
            async with process(broker.url) as other:
                here.call_for_help()
                assert await other.stdout.readline() == b"come\n"
                ears.has_room = True
                here.capacity_changed()
                await until_queued(broker.url, messages=0, consumers=2)
                await stays(lambda: ears.came == 0)
                other.kill()
                # A second kill, before asyncio has noticed the end, takes the exit status away, and asyncio complains.
                await other.wait()
                await until(lambda: ears.came == 1)

    story(it())


def test_what_was_answered_does_not_come_again(story: Story, broker: Broker) -> None:
    async def it() -> None:
        here, there, ears = bus.of(broker.url), bus.of(broker.url), Listener()
        ears.held = asyncio.Event()
        async with there.listening(Listener(room=False)):
            async with here.listening(ears):
                await connected(here, there)
                there.call_for_help()
                await until(lambda: ears.came == 1)
            # It left in the middle of its turn, in good order: the call goes back at once.
            async with here.listening(second := Listener()):
                await until(lambda: second.came == 1)
                # The next call comes when the first is acknowledged.
                there.call_for_help()
                await until(lambda: second.came == 2)
                second.has_room = False
                here.capacity_changed()
                await until_queued(broker.url, messages=0, consumers=0)
            async with here.listening(third := Listener()):
                await connected(here)
                await until_queued(broker.url, messages=0, consumers=1)
                await stays(lambda: third.came == 0)

    story(it())


def test_a_turn_goes_on_when_its_connection_is_lost(story: Story, broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    async def it() -> None:
        there, ears = Between(broker.port), Listener()
        ears.held, ended = asyncio.Event(), []
        come = ears.take_turn

        async def noted() -> None:
            await come()
            ended.append(ears.came)

        monkeypatch.setattr(ears, "take_turn", noted)
        async with there.open() as port:
            here, other = bus.of(url_at(broker, port)), bus.of(broker.url)
            async with here.listening(ears), other.listening(Listener(room=False)):
                await connected(here, other)
                other.call_for_help()
                await until(lambda: ears.came == 1)
                there.cut()
                await until(lambda: here.counts.reconnects == 1)
                await stays(lambda: ears.came == 1 and ended == [])
                ears.held.set()
                # It was never answered, so it comes again; now it is over soon.
                await until(lambda: ended == [1, 2])

    story(it())


def test_where_a_turn_fails_another_is_called(story: Story, broker: Broker) -> None:
    async def it() -> None:
        here, there, failing, ears = bus.of(broker.url), bus.of(broker.url), Broken(), Listener(room=False)
        async with here.listening(ears), there.listening(failing):
            await connected(here, there)
            here.call_for_help()
            await until(lambda: failing.came == 1)
            ears.has_room = True
            here.capacity_changed()
            await until(lambda: ears.came == 1)
            here.announce(["a"])
            await publish(broker.url, "isotherm.hints", b'{"a": 1}')
            await until(lambda: there.counts.received + here.counts.received >= 4)
            assert here.connected and there.connected

    story(it())


def test_a_purge_and_deleted_queues_stop_nothing(story: Story, broker: Broker) -> None:
    async def delete(channel: Any) -> None:
        await channel.queue_delete("isotherm.work")
        await channel.queue_delete("isotherm.hints")
        await channel.exchange_delete("isotherm.news")

    async def it() -> None:
        here, there = bus.of(broker.url), bus.of(broker.url)
        ours, theirs = Listener(room=False), Listener(room=False)
        async with here.listening(ours), there.listening(theirs):
            await connected(here, there)
            here.call_for_help()
            await until(lambda: here.counts.published == 1)
            assert await purge(broker.url) == 1
            theirs.has_room = True
            there.capacity_changed()
            await until_queued(broker.url, messages=0, consumers=1)
            assert theirs.came == 0
            here.call_for_help()
            await until(lambda: theirs.came == 1)
            await on_the_broker(broker.url, delete)
            await until(lambda: here.counts.reconnects and there.counts.reconnects)
            await connected(here, there)
            here.call_for_help()
            here.announce(["a"])
            await until(lambda: theirs.came == 2 and theirs.heard == ["a"])

    story(it())


@pytest.mark.parametrize("body", [
    b"", b"\x00\xff garbage", b"[" * 50_000, b'{"v": 2, "stacks": {"other": "form"}}', b"[]", b"x" * 1_000_000])
def test_garbage_is_counted_and_goes_away(story: Story, broker: Broker, body: Any) -> None:
    async def it() -> None:
        here, ears = bus.of(broker.url), Listener()
        async with here.listening(ears):
            await connected(here)
            for number, exchange in enumerate(("isotherm.news", "isotherm.work", "isotherm.hints"), 1):
                await publish(broker.url, exchange, body)
                await until(partial(lambda count: here.counts.refused == count, number))
            await publish(broker.url, "isotherm.hints", b'{"stack": "a"}', "good")
            await publish(broker.url, "isotherm.news", wire.encode("x", ["b"])[:-1] + b',"of":"later"}')
            await publish(broker.url, "isotherm.work", wire.encode("x"))
            await until(lambda: ears.hints == [{"stack": "a"}] and ears.heard == ["b"] and ears.came == 1)
            assert here.connected and here.counts.reconnects == 0 and here.counts.refused == 3

    story(it())


def test_each_hint_goes_to_one_process_that_takes_hints(story: Story, broker: Broker) -> None:
    async def it() -> None:
        buses = [bus.of(broker.url) for _ in range(3)]
        ears = [Listener(room=False) for _ in range(3)]
        async with buses[0].listening(ears[0], hints=False), buses[1].listening(ears[1]), buses[2].listening(ears[2]):
            await connected(*buses)
            for number in range(10):
                await publish(broker.url, "isotherm.hints", b'{"n": %d}' % number, "compute.instance")
            await until(lambda: len(ears[1].hints) + len(ears[2].hints) == 10)
            assert ears[0].hints == []

    story(it())
