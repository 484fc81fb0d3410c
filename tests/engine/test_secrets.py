"""Secrets, with a marker: it must be found in no table, no reply, no log. Cases 39 to 51 of the abuse cases."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from isotherm import errors
from isotherm.engine.orchestrator import Patch
from isotherm.observer.observe import RealityReader
from isotherm.observer.service import Tuning
from isotherm.planning import masking
from isotherm.planning.planner import Planning
from isotherm.resources import builtin
from isotherm.secrets import redactor
from tests.engine.conftest import PATIENCE_S, Lab, resource
from tests.engine.markers import HIDDEN, MARKER, NESTED, OLDER, SECRET, WORDS, Login, dump, inner, replies, told, traces

Tell = Callable[[Callable[[Lab], Coroutine[Any, Any, None]]], None]


@pytest.fixture(autouse=True)
def _types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(builtin.registry().types, Login.TYPE, Login)


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
        await it.api.signals.send("s", "handle", {"id": "1", "status": "SUCCESS", "reason": "fine", "data": MARKER})
        assert traces(dump(tmp_path)) == []
        await it.end(await it.api.snapshots.take("s", "first"))
        changed = it.request(everything(), environment=WORDS, **options)
        plan = json.dumps((await it.api.preview.changes("s", changed)).as_dict(), ensure_ascii=False)
        assert traces(plan, OLDER) == []
        assert '"password": {"from": "******", "to": "******"}' in plan
        patch = Patch(environment={"parameters": {"pw": MARKER}})
        assert traces(json.dumps(await it.api.preview.update("s", patch, nested=True), default=str), OLDER) == []
        stack = await it.end(await it.api.stacks.update("s", changed))
        assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
        await look("update")
        for name in ("nested", "group"):
            await look(name, await inner(it, name))
        outputs = {one["output_key"]: one["output_value"] for one in await it.api.outputs.list("s")}
        assert outputs["public"] == "harmless"
        assert {outputs[name] for name in ("direct", "joined", "hashed", "copied")} == {"******"}
        assert hashlib.sha512(MARKER.encode()).hexdigest() not in json.dumps(outputs)
        for action in (it.api.stacks.check, it.api.stacks.suspend, it.api.stacks.resume):
            await it.end(await action("s"))
        await it.end(await it.api.snapshots.restore("s", "first"))
        await look("restore")
        stack = await it.end((await it.api.exports.abandon("s")).accepted)
        assert traces(dump(tmp_path), OLDER) == []

    lab(story)
    assert traces(caplog.text, OLDER) == []


def test_it_arrives_where_it_is_needed(lab: Tell) -> None:
    """Masking does not keep the secret from resources that need it."""

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
        assert (await it.api.inputs.parameters(stack_id))["plain"] == "******"
        assert (await it.api.inputs.parameters(stack_id))["other"] == "harmless"
        assert (await it.api.inputs.environment(stack_id))["parameters"] == {"plain": "******"}
        # Its own updates, asked for by the user, do not forget it.
        await it.end(await it.api.stacks.update(stack_id, Patch(environment={"parameters": {"other": "changed"}})))
        assert await told(it, stack_id) == []
        assert set((await it.api.preview.changes("s", it.request(resources, **options))).counts) <= {"no change", "update"}

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
        accepted = await it.api.stacks.create("s", request)

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


def test_what_may_quote_a_secret_too_large_to_be_searched_for_is_withheld(
    lab: Tell, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in a write-only property: nothing of a megabyte is prepared for one reason."""
    made: list[int] = []
    prepare = redactor._forms

    def noted(text: str) -> Any:
        made.append(len(text))
        return prepare(text)

    monkeypatch.setattr(redactor, "_forms", noted)

    async def story(it: Lab) -> None:
        login = {"type": "Test::Login", "properties": {"password": {"get_file": "key"}, "mood": "fail"}}
        stack = await it.create({"r": login}, files={"key": "Literal-pass-9 " * 80_000})
        assert stack["stack_status"] == "CREATE_FAILED"
        assert masking.TOO_LARGE in stack["stack_status_reason"]
        assert traces(json.dumps(await it.api.events.list("s"), default=str), "Literal-pass-9") == []

    lab(story)
    assert traces(caplog.text, "Literal-pass-9") == []
    assert max(made, default=0) < 65_536


def test_an_update_that_fails_tells_neither_the_old_nor_the_new_value(lab: Tell, tmp_path: Path) -> None:
    """Case 42, in reasons and in plans."""

    async def story(it: Lab) -> None:
        def login(mood: str, **more: Any) -> dict[str, Any]:
            return {"r": {"type": "Test::Login", "properties": {"user": SECRET, "mood": mood, **more}}}

        await it.create(login("good"), parameters=HIDDEN, environment={"parameters": {"pw": OLDER}})
        openly = it.request({"r": {"type": "Test::Login", "properties": {"user": "nobody"}}})
        assert traces(json.dumps((await it.api.preview.changes("s", openly)).as_dict()), OLDER) == []
        await it.update(login("fail"), parameters=HIDDEN, environment=WORDS)
        assert "******" in (await it.api.stacks.show("s"))["stack_status_reason"]
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
            await it.api.stacks.create("s", it.request(resources, parameters=parameters or HIDDEN, environment=WORDS))
        text = str(raised.value) + repr(raised.value.problems)
        request = it.request(resources, parameters=parameters or HIDDEN)
        try:
            text += json.dumps(it.api.templates.validate(request.template, {}, WORDS))
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
        change = (await it.api.preview.changes("s", it.request(login("Second-words-2")))).as_dict()["resources"][0]
        masked = {"from": "******", "to": "******"}
        assert change["changes"] == {"password": masked, "keys": masked}
        same = (await it.api.preview.changes("s", it.request(login("First-words-1")))).as_dict()
        assert same["counts"] == {"no change": 1}
        assert traces(dump(tmp_path), "First-words-1") == []
        async for what, reply in replies(it, "s"):
            shows_the_template = what in ("inputs.template", "exports.export")
            assert shows_the_template or "First-words-1" not in json.dumps(reply, default=str), what
        wrong = {"type": "Test::Login", "properties": {"password": ["Oops-words-3"]}}
        with pytest.raises(errors.UserError) as raised:
            await it.api.stacks.update("s", it.request({"r": wrong}))
        assert "Oops-words-3" not in str(raised.value)

    lab(story)


@pytest.mark.parametrize("place", ["template", "group", "stack", "chain of two"])
def test_a_write_only_property_inside_is_told_by_no_error(lab: Tell, tmp_path: Path, place: Any) -> None:
    """The nested template is validated when its stack is made: the outer stack shows the error, and stores it (I17)."""
    wrong = {"type": "Test::Login", "properties": {"password": ["Oops-words-3"]}}
    inner = json.dumps({"heat_template_version": "2021-04-16", "resources": {"x": wrong}})
    outer = json.dumps({"heat_template_version": "2021-04-16", "resources": {"y": {"type": "inner.yaml"}}})
    made = {"template": {"type": "inner.yaml"}, "stack": {"type": "OS::Heat::Stack", "properties": {"template": inner}},
            "group": {"type": "OS::Heat::ResourceGroup", "properties": {"count": 1, "resource_def": wrong}},
            "chain of two": {"type": "outer.yaml"}}[place]

    async def story(it: Lab) -> None:
        stack = await it.create({"r": made}, files={"inner.yaml": inner, "outer.yaml": outer})
        assert stack["stack_status"] == "CREATE_FAILED"
        assert "Value must be a string; got ['******']" in stack["stack_status_reason"]
        assert traces(json.dumps(await it.api.events.list("s"), default=str), "Oops-words-3") == []
        assert traces(dump(tmp_path), "Oops-words-3") == []

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


@pytest.mark.parametrize("readable", [True, False])
def test_a_failed_observation_is_logged_without_secrets(
    lab: Tell, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, *, readable: bool
) -> None:
    """An injected fault: the observer itself fails, and the error quotes a hidden value; perhaps what is hidden cannot
    be read either."""

    async def broken(*_: object) -> None:
        raise RuntimeError(f"cannot compare {MARKER}")

    def logged() -> list[logging.LogRecord]:
        return [one for one in caplog.records if one.message == "an observation of a stack failed"]

    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")}, parameters=HIDDEN, environment=WORDS)
        monkeypatch.setattr(RealityReader, "observe", broken)
        if not readable:
            monkeypatch.setattr(Planning, "all_secrets", broken)
        async with it.engine.observing(Tuning(lease_s=5.0, idle_s=0.02, enrol_s=0.05)), asyncio.timeout(PATIENCE_S):
            while not logged():
                await asyncio.sleep(0.01)
        shown = "cannot compare ******" if readable else "the message is withheld"
        assert f"RuntimeError: {'' if readable else '('}{shown}" in caplog.text
        assert traces(caplog.text) == []

    lab(story)
