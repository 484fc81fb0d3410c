"""Secrets, with a marker: it must be found in no table, no reply, no log. Cases 39 to 51 of the abuse cases."""

from __future__ import annotations

import asyncio
import base64
import collections
import hashlib
import json
import logging
import math
import random
import sqlite3
import string
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from isotherm import errors
from isotherm.engine.embedded import Embedded
from isotherm.engine.event_reading import EventWish
from isotherm.engine.orchestrator import Patch
from isotherm.resources import contract, known
from isotherm.resources.schema import LIST, MAP, STRING, Schema
from tests.engine.conftest import Lab, resource

Tell = Callable[[Callable[[Lab], Coroutine[Any, Any, None]]], None]

MARKER = "Zx9-marker'\"<&>ö-7Q"
OLDER = "Older-marker-55Tt"
SHORT = "k7q"
# Each of these in any file or reply means that the marker was told.
TRACES = [MARKER, json.dumps(MARKER)[1:-1], repr(MARKER)[1:-1], "Zx9-m", "ö-7Q", base64.b64encode(MARKER.encode()).decode()]
HIDDEN = {"pw": {"type": "string", "hidden": True}}
SECRET = {"get_param": "pw"}
WORDS = {"parameters": {"pw": MARKER}}


class Login(contract.Resource):
    """A type that talks too much: whatever goes wrong, it quotes what it was given."""

    TYPE = "Test::Login"
    properties_schema: ClassVar[dict[str, Schema]] = {
        "user": Schema(STRING, update_allowed=True),
        "password": Schema(STRING, update_allowed=True, write_only=True),
        "keys": Schema(LIST, update_allowed=True, schema=Schema(MAP, schema={"name": Schema(STRING),
                                                                          "key": Schema(STRING, write_only=True)})),
        "mood": Schema(STRING, update_allowed=True),
    }

    def _speak(self, *more: object) -> None:
        body = json.dumps([dict(self.properties), *more])
        if self.properties["mood"] == "fail":
            raise ValueError(f"400 Bad Request: {body}")
        if self.properties["mood"] == "long":
            raise ValueError("x" * 940 + body)
        if self.properties["mood"] == "wait":
            raise errors.Temporary(f"503: {body}", retry_after_s=3600)

    async def handle_create(self) -> object:
        self.physical_id = self.physical_name
        self._speak()
        return {"seen": dict(self.properties)}

    async def handle_update(self, before: Any, changed: Any) -> object:
        self._speak(before, changed)
        return None


@pytest.fixture(autouse=True)
def _types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(known.registry().types, Login.TYPE, Login)


def dump(folder: Path) -> str:
    """Every value of every table, and whatever else lies in the files of the database."""
    told = []
    connection = sqlite3.connect(folder / "isotherm.db")
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        for row in connection.execute(f'SELECT * FROM "{table}"'):
            told += [f"{table}: {value}" for value in row]
    connection.close()
    files = [path.read_bytes().decode("latin-1") for path in sorted(folder.glob("isotherm.db*"))]
    return "\n".join([*told, *files])


def traces(text: str, *more: str) -> list[str]:
    found = [*TRACES, *more]
    return [one for one in found if one in text or one.encode().decode("latin-1") in text]


async def replies(lab: Lab, name: str) -> AsyncIterator[tuple[str, Any]]:
    """All that can be read of a stack."""
    api = lab.api
    for what in ("show", "find", "resources", "edges", "events", "outputs", "output_names", "parameters", "template",
                 "environment", "files", "export", "snapshots", "hooks"):
        yield what, await getattr(api, what)(name)
    yield "stacks", await api.stacks()
    for one in await api.output_names(name):
        yield "output", await api.output(name, one["output_key"])
    async for piece in api.resource_pages(name, depth=5, detail=True):
        yield "resource_pages", piece
    for one in await api.resources(name):
        yield "resource", await api.resource(name, one["resource_name"])
    async for page in api.event_pages(name, EventWish()):
        yield "event_pages", page
    for event in await api.events(name):
        if event["resource_name"]:
            yield "event", await api.event(name, event["resource_name"], str(event["id"]))
    for snapshot in await api.snapshots(name):
        yield "show_snapshot", await api.show_snapshot(name, snapshot["id"])


async def told(lab: Lab, name: str, *more: str) -> list[tuple[str, str]]:
    """Which replies tell which trace."""
    found = []
    async for what, reply in replies(lab, name):
        text = json.dumps(reply, default=str, ensure_ascii=False) + repr(reply)
        found += [(what, trace) for trace in traces(text, *more)]
    return found


async def inner(lab: Lab, name: str) -> str:
    """The id of the stack that a resource is."""
    return next(one["physical_resource_id"] for one in await lab.api.resources("s") if one["resource_name"] == name)


NESTED = """
heat_template_version: 2021-04-16
parameters: {plain: {type: string}, other: {type: string, default: harmless}}
resources:
  leaf: {type: OS::Heat::Value, properties: {value: {get_param: plain}}}
  login: {type: Test::Login, properties: {user: {get_param: other}, password: {get_param: plain}}}
outputs:
  same: {value: {get_attr: [leaf, value]}}
  given: {value: {get_param: plain}}
  other: {value: {get_param: other}}
"""


def everything() -> dict[str, Any]:
    """Resources that carry the secret in every way there is."""
    return {
        "value": {"type": "OS::Heat::Value", "properties": {"value": SECRET}, "metadata": {"note": SECRET}},
        "copy": {"type": "OS::Heat::Value", "properties": {"value": {"get_attr": ["value", "value"]}}},
        "login": {"type": "Test::Login", "properties": {"user": "root", "password": SECRET,
                                                        "keys": [{"name": "a", "key": SECRET}]}},
        "group": {"type": "OS::Heat::ResourceGroup", "properties": {"count": 2, "resource_def": {
            "type": "OS::Heat::Value", "properties": {"value": {"list_join": ["-", ["a", SECRET]]}}}}},
        "nested": {"type": "nested.yaml", "properties": {"plain": SECRET}},
        "config": {"type": "OS::Heat::SoftwareConfig", "properties": {
            "config": {"str_replace": {"template": "echo PW", "params": {"PW": SECRET}}}, "inputs": [{"name": "pw"}]}},
        "server": {"type": "OS::Heat::DeployedServer", "properties": {"software_config_transport": "POLL_SERVER_HEAT"}},
        "deployment": {"type": "OS::Heat::SoftwareDeployment", "properties": {
            "config": {"get_resource": "config"}, "server": {"get_resource": "server"}, "input_values": {"pw": SECRET},
            "signal_transport": "NO_SIGNAL"}},
        "handle": {"type": "OS::Heat::WaitConditionHandle"},
    }


OUTPUTS = {
    "direct": {"value": SECRET}, "joined": {"value": {"list_join": ["", ["<", SECRET, ">"]]}},
    "hashed": {"value": {"digest": ["sha512", SECRET]}}, "copied": {"value": {"get_attr": ["copy", "value"]}},
    "deep": {"value": {"x": [{"get_attr": ["nested", "same"]}, 1]}}, "public": {"value": {"get_attr": ["nested", "other"]}},
    "members": {"value": {"get_attr": ["group", "value"]}},
}


def test_no_table_and_no_reply_tells_a_hidden_value(lab: Tell, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Cases 39, 40, 43, 48, 49: create, signal, snapshot, update, restore, check, suspend, delete; and look after each."""
    caplog.set_level(logging.DEBUG)

    async def story(it: Lab) -> None:
        async def look(step: str, name: str = "s") -> None:
            assert await told(it, name, OLDER) == [], step
            assert traces(dump(tmp_path), OLDER) == [], step

        options: dict[str, Any] = {"parameters": HIDDEN, "outputs": OUTPUTS, "files": {"nested.yaml": NESTED}}
        stack = await it.create(everything(), environment={"parameters": {"pw": OLDER}}, **options)
        assert stack["stack_status"] == "CREATE_COMPLETE", stack["stack_status_reason"]
        await look("create")
        await it.api.signal("s", "handle", {"id": "1", "status": "SUCCESS", "reason": "fine", "data": MARKER})
        assert traces(dump(tmp_path)) == []
        await it.end(await it.api.snapshot("s", "first"))
        changed = it.request(everything(), environment=WORDS, **options)
        plan = json.dumps((await it.api.preview("s", changed)).as_dict(), ensure_ascii=False)
        assert traces(plan, OLDER) == []
        assert '"password": {"from": "******", "to": "******"}' in plan
        patch = Patch(environment={"parameters": {"pw": MARKER}})
        assert traces(json.dumps(await it.api.preview_update("s", patch, nested=True), default=str), OLDER) == []
        stack = await it.end(await it.api.update("s", changed))
        assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
        await look("update")
        for name in ("nested", "group"):
            await look(name, await inner(it, name))
        outputs = {one["output_key"]: one["output_value"] for one in await it.api.outputs("s")}
        assert outputs["public"] == "harmless"
        assert {outputs[name] for name in ("direct", "joined", "hashed", "copied")} == {"******"}
        assert hashlib.sha512(MARKER.encode()).hexdigest() not in json.dumps(outputs)
        for action in (it.api.check, it.api.suspend, it.api.resume):
            await it.end(await action("s"))
        await it.end(await it.api.restore("s", "first"))
        await look("restore")
        stack = await it.end((await it.api.abandon("s")).accepted)
        assert traces(dump(tmp_path), OLDER) == []

    lab(story)
    assert traces(caplog.text, OLDER) == []


def test_it_arrives_where_it_is_needed(lab: Tell) -> None:
    """Nothing of this keeps the secret from those who are to have it."""

    async def story(it: Lab) -> None:
        resources = {"a": resource(SECRET), "b": {"type": "nested.yaml", "properties": {"plain": SECRET}},
                     "c": resource({"get_attr": ["b", "given"]})}
        await it.create(resources, parameters=HIDDEN, environment=WORDS, files={"nested.yaml": NESTED})
        assert it.values() == [MARKER, MARKER]

    lab(story)


def test_a_hidden_value_stays_hidden_inside(lab: Tell) -> None:
    """Case 40: the parameter inside is not hidden, and its value is masked all the same."""

    async def story(it: Lab) -> None:
        resources = {"n": {"type": "nested.yaml", "properties": {"plain": SECRET}}}
        options: dict[str, Any] = {"parameters": HIDDEN, "environment": WORDS, "files": {"nested.yaml": NESTED}}
        await it.create(resources, **options)
        stack_id = await inner(it, "n")
        assert (await it.api.parameters(stack_id))["plain"] == "******"
        assert (await it.api.parameters(stack_id))["other"] == "harmless"
        assert (await it.api.environment(stack_id))["parameters"] == {"plain": "******"}
        # Its own updates, asked for by the user, do not forget it.
        await it.end(await it.api.update(stack_id, Patch(environment={"parameters": {"other": "changed"}})))
        assert await told(it, stack_id) == []
        assert set((await it.api.preview("s", it.request(resources, **options))).counts) <= {"no change", "update"}

    lab(story)


@pytest.mark.parametrize("mood", ["fail", "long", "wait"])
@pytest.mark.parametrize("around", [False, True])
def test_a_type_that_quotes_the_secret(
    lab: Tell, tmp_path: Path, caplog: pytest.LogCaptureFixture, mood: str, around: bool
) -> None:
    """Case 41: what a cloud says is masked before it is stored and logged, also where it fails inside another stack."""
    caplog.set_level(logging.DEBUG)

    async def story(it: Lab) -> None:
        login = {"type": "Test::Login", "properties": {"user": SECRET, "password": "Literal-pass-9", "mood": mood}}
        group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 1, "resource_def": login}}
        request = it.request({"r": group if around else login}, parameters=HIDDEN, environment=WORDS)
        accepted = await it.api.create("s", request)

        async def spoken() -> bool:
            return "******" in dump(tmp_path)

        await it.until(spoken)
        assert traces(dump(tmp_path), "Literal-pass-9") == []
        assert await told(it, "s") == []
        if mood != "wait":
            stack = await it.end(accepted)
            assert stack["stack_status"] == "CREATE_FAILED"
            assert "******" in stack["stack_status_reason"]
            assert "ValueError" in stack["stack_status_reason"]

    lab(story)
    assert traces(caplog.text, "Literal-pass-9") == []


def test_an_update_that_fails_tells_neither_the_old_nor_the_new_value(lab: Tell, tmp_path: Path) -> None:
    """Case 42, in reasons and in plans."""

    async def story(it: Lab) -> None:
        def login(mood: str, **more: Any) -> dict[str, Any]:
            return {"r": {"type": "Test::Login", "properties": {"user": SECRET, "mood": mood, **more}}}

        await it.create(login("good"), parameters=HIDDEN, environment={"parameters": {"pw": OLDER}})
        openly = it.request({"r": {"type": "Test::Login", "properties": {"user": "nobody"}}})
        assert traces(json.dumps((await it.api.preview("s", openly)).as_dict()), OLDER) == []
        await it.update(login("fail"), parameters=HIDDEN, environment=WORDS)
        assert "******" in (await it.api.show("s"))["stack_status_reason"]
        assert await told(it, "s", OLDER) == []
        assert traces(dump(tmp_path), OLDER) == []

    lab(story)


WRONG: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"a": {"type": "OS::Heat::Delay", "properties": {"min_wait": SECRET}}}, {}),
    ({"a": {"type": "OS::Heat::RandomString", "properties": {"length": 5, "salt": SECRET, SECRET["get_param"]: 1}}}, {}),
    ({"a": {"type": "OS::Heat::RandomString", "properties": {"character_classes": [{"class": SECRET}]}}}, {}),
    ({"a": resource(SECRET)}, {"pw": {"type": "number", "hidden": True}}),
    ({"a": resource(SECRET)}, {"pw": {"type": "string", "hidden": True, "constraints": [{"length": {"max": 3}}]}}),
    ({"a": resource(SECRET)}, {"pw": {"type": "json", "hidden": True}}),
    ({"a": {"type": "OS::Heat::Delay", "properties": {"min_wait": {"list_join": ["", ["n", SECRET]]}}}}, {}),
]


@pytest.mark.parametrize(("resources", "parameters"), WRONG)
def test_messages_do_not_quote_it(lab: Tell, resources: dict[str, Any], parameters: dict[str, Any]) -> None:
    async def story(it: Lab) -> None:
        with pytest.raises(errors.UserError) as raised:
            await it.api.create("s", it.request(resources, parameters=parameters or HIDDEN, environment=WORDS))
        text = str(raised.value) + repr(raised.value.problems)
        request = it.request(resources, parameters=parameters or HIDDEN)
        try:
            text += json.dumps(it.api.validate(request.template, {}, WORDS))
        except errors.UserError as error:
            text += str(error) + repr(error.problems)
        assert traces(text) == []
        assert raised.value.__cause__ is None
        assert raised.value.__suppress_context__

    lab(story)


def test_a_write_only_property_is_never_told(lab: Tell, tmp_path: Path) -> None:
    """Case 48: the template has it, as the user wrote it; nothing else does. A plan says that it changes, and no more."""

    async def story(it: Lab) -> None:
        def login(password: str) -> dict[str, Any]:
            return {"r": {"type": "Test::Login", "properties": {"user": "u", "password": password,
                                                                "keys": [{"name": "n", "key": password}]}}}

        await it.create(login("First-words-1"))
        change = (await it.api.preview("s", it.request(login("Second-words-2")))).as_dict()["resources"][0]
        masked = {"from": "******", "to": "******"}
        assert change["changes"] == {"password": masked, "keys": masked}
        same = (await it.api.preview("s", it.request(login("First-words-1")))).as_dict()
        assert same["counts"] == {"no change": 1}
        assert traces(dump(tmp_path), "First-words-1") == []
        async for what, reply in replies(it, "s"):
            assert what in ("template", "export") or "First-words-1" not in json.dumps(reply, default=str), what
        wrong = {"type": "Test::Login", "properties": {"password": ["Oops-words-3"]}}
        with pytest.raises(errors.UserError) as raised:
            await it.api.update("s", it.request({"r": wrong}))
        assert "Oops-words-3" not in str(raised.value)

    lab(story)


def test_a_default_and_a_file_are_covered_where_they_are_declared(lab: Tell, tmp_path: Path) -> None:
    """Case 51: a hidden parameter's default is hidden; so is a text that comes through a hidden parameter."""

    async def story(it: Lab) -> None:
        parameters = {"pw": {"type": "string", "hidden": True, "default": MARKER}}
        config = {"type": "OS::Heat::SoftwareConfig", "properties": {
            "config": {"str_replace": {"template": {"get_file": "run.sh"}, "params": {"$pw": SECRET}}}}}
        await it.create({"c": config}, parameters=parameters, files={"run.sh": "login $pw"}, outputs={
            "c": {"value": {"get_attr": ["c", "config"]}}})
        assert await told(it, "s") == []
        assert traces(dump(tmp_path)) == []

    lab(story)


def test_no_digest_or_address_can_be_guessed(lab: Tell, tmp_path: Path) -> None:
    """A short password and a known template: no hash in the tables can be computed from them without the key."""

    async def hashes(folder: Path) -> set[str]:
        engine = Embedded(folder)
        try:
            async with engine.driving():
                it = Lab(engine)
                await it.end(await it.api.create("s", it.request(
                    {"a": resource(SECRET)}, parameters=HIDDEN, environment={"parameters": {"pw": SHORT}})))
        finally:
            engine.close()
        connection = sqlite3.connect(folder / "isotherm.db")
        found = {row[0] for row in connection.execute(
            "SELECT hash FROM blobs UNION SELECT digest FROM nodes UNION SELECT digest FROM resources UNION "
            "SELECT input FROM operations UNION SELECT hash FROM uses")}
        connection.close()
        return found - {None, ""}

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = (asyncio.run(hashes(tmp_path / name)) for name in ("one", "two"))
    assert len(one) == len(two) == 3
    assert not one & two


# Keys.


@asynccontextmanager
async def engine_on(folder: Path) -> AsyncIterator[Lab]:
    engine = Embedded(folder)
    try:
        async with engine.driving():
            yield Lab(engine)
    finally:
        engine.close()


def tree() -> dict[str, Any]:
    return {"a": resource(SECRET), "b": {"type": "OS::Heat::Value", "properties": {"value": {"get_attr": ["a", "output"]}}},
            "n": {"type": "nested.yaml", "properties": {"plain": SECRET}},
            "r": {"type": "OS::Heat::RandomString"}}


OPTIONS: dict[str, Any] = {"parameters": HIDDEN, "environment": WORDS, "files": {"nested.yaml": NESTED}}


def test_keys_can_be_rotated(tmp_path: Path) -> None:
    """Case 45: old rows by the old key, new ones by the new; nothing is done to resources because of it."""

    async def story() -> None:
        async with engine_on(tmp_path) as it:
            await it.create(tree(), **OPTIONS)
        keys = tmp_path / "keys"
        keys.write_text(f"{'0123456789abcdef' * 4}\n{keys.read_text()}")
        async with engine_on(tmp_path) as it:
            request = it.request(tree(), **OPTIONS)
            assert set((await it.api.preview("s", request)).counts) == {"no change"}
            before = len(await it.api.events("s"))
            await it.end(await it.api.update("s", request))
            assert len(await it.api.events("s")) == before + 2
            changed = {**tree(), "a": resource({"list_join": ["", [SECRET, "!"]]})}
            assert (await it.update(changed, **OPTIONS))["stack_status"] == "UPDATE_COMPLETE"
            assert MARKER + "!" in it.values()
            assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
            assert it.objects() == {}

    asyncio.run(story())


def test_a_lost_key_says_so_and_the_stack_can_be_deleted(tmp_path: Path) -> None:
    """Case 45: reading gives a clear error, an update fails, deleting works; nobody else is held up."""

    async def story() -> None:
        async with engine_on(tmp_path) as it:
            await it.create(tree(), **OPTIONS)
        (tmp_path / "keys").unlink()
        async with engine_on(tmp_path) as it:
            assert (await it.api.show("s"))["stack_status"] == "CREATE_COMPLETE"
            assert {one["resource_name"] for one in await it.api.resources("s")} == {"a", "b", "n", "r"}
            for read in (it.api.outputs, it.api.export, it.api.parameters):
                with pytest.raises(errors.Unreadable, match="key"):
                    await read("s")
            failed = await it.update({**tree(), "a": resource("another")}, **OPTIONS)
            assert failed["stack_status"] == "UPDATE_FAILED"
            others = await it.end(await it.api.create("t", it.request(tree(), **OPTIONS)))
            assert others["stack_status"] == "CREATE_COMPLETE"
            gone = await it.delete()
            assert gone["stack_status"] == "DELETE_COMPLETE", gone["stack_status_reason"]
            assert (await it.end(await it.api.delete("t")))["stack_status"] == "DELETE_COMPLETE"
            assert it.objects() == {}

    asyncio.run(story())


def test_what_could_not_be_read_is_not_overwritten(tmp_path: Path) -> None:
    """The key may come back: until then, every sealed text stays what it was."""

    async def story() -> None:
        async with engine_on(tmp_path) as it:
            await it.create({"a": resource(SECRET)}, **OPTIONS)
        keys = (tmp_path / "keys").read_text()
        (tmp_path / "keys").unlink()
        async with engine_on(tmp_path) as it:
            await it.end(await it.api.check("s"))
        (tmp_path / "keys").write_text(keys)
        async with engine_on(tmp_path) as it:
            await it.end(await it.api.check("s"))
            found = await it.api.resource("s", "a")
            assert found["attributes"]["output"] == "******"
            assert it.values() == [MARKER]

    asyncio.run(story())


@pytest.mark.parametrize("table", ["resources", "blobs"])
def test_what_was_swapped_is_not_authentic(tmp_path: Path, table: str) -> None:
    """Case 47: a text of one stack in the place of another's."""

    async def story() -> None:
        async with engine_on(tmp_path) as it:
            for name, word in (("s", MARKER), ("t", OLDER)):
                request = it.request({"a": {"type": "OS::Heat::Value", "properties": {"value": SECRET}}}, parameters=HIDDEN,
                                     environment={"parameters": {"pw": word}})
                await it.end(await it.api.create(name, request))
            ids = {one["stack_name"]: one["id"] for one in await it.api.stacks()}
        connection = sqlite3.connect(tmp_path / "isotherm.db")
        if table == "resources":
            connection.execute("UPDATE resources SET properties = (SELECT properties FROM resources WHERE stack_id = ?) "
                               "WHERE stack_id = ?", (ids["s"], ids["t"]))
        else:
            connection.execute("UPDATE operations SET input = (SELECT input FROM operations WHERE stack_id = ?) "
                               "WHERE stack_id = ?", (ids["s"], ids["t"]))
        connection.commit()
        connection.close()
        async with engine_on(tmp_path) as it:
            with pytest.raises(errors.Unreadable):
                if table == "resources":
                    await it.api.resource("t", "a")
                else:
                    await it.api.export("t", hidden=True)
            assert (await it.api.export("s", hidden=True))["environment"]["parameters"] == {"pw": MARKER}

    asyncio.run(story())


# Generated passwords.


def entropy(texts: Iterator[str]) -> float:
    counts = collections.Counter(character for text in texts for character in text)
    total = sum(counts.values())
    return -sum(n / total * math.log2(n / total) for n in counts.values())


def test_generated_passwords(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 50: as long as asked for, from the alphabet asked for, and from the operating system's own source."""

    async def story(it: Lab) -> None:
        def one(**properties: Any) -> dict[str, Any]:
            return {"type": "OS::Heat::RandomString", "properties": properties}

        resources = {f"r{i}": one(length=64) for i in range(40)}
        resources |= {f"d{i}": one(length=200, character_classes=[{"class": "digits", "min": 1}]) for i in range(3)}
        resources["m"] = one(length=12, character_classes=[{"class": "lowercase", "min": 5}, {"class": "digits", "min": 5}])
        outputs = {name: {"value": {"get_attr": [name, "value"]}} for name in resources}
        await it.create(resources, outputs=outputs)
        made = {view["output_key"]: view["output_value"] for view in await it.api.outputs("s")}
        letters = [text for name, text in made.items() if name.startswith("r")]
        assert {len(text) for text in letters} == {64}
        assert len(set(letters)) == 40
        assert set("".join(letters)) <= set(string.ascii_letters + string.digits)
        assert entropy(iter(letters)) > 5.85  # of 5.954 for 62 characters
        assert all(set(made[f"d{i}"]) <= set(string.digits) and len(made[f"d{i}"]) == 200 for i in range(3))
        assert sum(c.isdigit() for c in made["m"]) >= 5
        assert sum(c.islower() for c in made["m"]) >= 5
        # Each character is drawn from the operating system's source, and from no other.
        assert len(drawn) >= sum(len(text) for text in made.values())

    drawn: list[bytes] = []
    source = random._urandom  # type: ignore[attr-defined]

    def watched(count: int) -> bytes:
        drawn.append(source(count))
        return drawn[-1]

    monkeypatch.setattr(random, "_urandom", watched)
    lab(story)
