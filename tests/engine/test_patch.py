"""Updates that name only the changes: the rest of the input stays."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from isotherm import errors
from isotherm.engine.operations.patch import unmasked
from isotherm.engine.orchestrator import Patch
from isotherm.planning import documents
from tests.engine.conftest import Lab, Tell, resource

PARAMETERS = {"p": {"type": "string", "default": "default"}, "q": {"type": "string", "default": "q"}}
TEMPLATE = {"a": resource({"get_param": "p"}), "b": resource({"get_param": "q"})}


async def made(it: Lab, **given: Any) -> None:
    await it.create(TEMPLATE, parameters=PARAMETERS, environment={"parameters": given}, tags=["kept"], timeout_s=77.0)


async def patched(it: Lab, patch: Patch) -> dict[str, Any]:
    return await it.end(await it.api.stacks.update("s", patch))


def test_only_parameters(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await made(it, p="1")
        stack = await patched(it, Patch(environment={"parameters": {"q": "2"}}))
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["1", "2"]
        assert (stack["tags"], stack["timeout_s"]) == (["kept"], 77.0)
        stack = await patched(it, Patch(clear_parameters=["p", "nobody-has-it"], tags=["new"], timeout_s=5.0))
        assert it.values() == ["2", "default"]
        assert (stack["tags"], stack["timeout_s"]) == (["new"], 5.0)
        await patched(it, Patch(environment={"parameters": {"q": None}}))
        assert it.values() == ["default", "q"], "null goes back to the default"

    lab(story)


def test_only_the_template(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await made(it, p="1", q="2")
        only_p = it.request({"a": resource({"get_param": "p"})}, parameters={"p": PARAMETERS["p"]}).template
        await patched(it, Patch(only_p))
        assert it.values() == ["1"], "the value of p was kept, and the one of q dropped"
        await patched(it, Patch(it.request(TEMPLATE, parameters=PARAMETERS).template))
        assert it.values() == ["1", "q"]

    lab(story)


def test_the_template_stays_and_the_parameters_do_not(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await made(it, p="1", q="2")
        await patched(it, Patch(environment={"parameters": {"q": "3"}}, existing=False))
        assert it.values() == ["3", "default"]

    lab(story)


def test_the_rest_of_the_environment_and_the_files_stay(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        surroundings = {"resource_registry": {"My::Type": "OS::Heat::TestResource",
                                              "resources": {"a": {"restricted_actions": "replace"}}}}
        mine = {"type": "My::Type", "properties": {"value": {"get_file": "text"}}}
        await it.create({"a": mine}, environment=surroundings, files={"text": "from a file"})
        await patched(it, Patch(environment={"parameter_defaults": {"p": "1"}}))
        assert it.values() == ["from a file"]
        stack = await patched(it, Patch(files={"text": "another"}))
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["another"]

    lab(story)


def test_a_name_that_no_parameter_has(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await made(it)
        wrong = {"parameters": {"typo": "1"}}
        with pytest.raises(errors.UserError, match=r"The Parameter \(typo\) was not defined in template.") as error:
            await it.api.stacks.update("s", Patch(environment=wrong))
        assert error.value.kind == "UnknownUserParameter"
        assert (await patched(it, Patch(environment=wrong, strict=False)))["stack_status"] == "UPDATE_COMPLETE"

    lab(story)


def test_an_immutable_parameter_is_refused_here_too(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        fixed = {"p": {"type": "string", "immutable": True}}
        await it.create({"a": resource({"get_param": "p"})}, parameters=fixed, environment={"parameters": {"p": "1"}})
        # Also after an operation that asked for nothing: the values are those of the last one that did.
        await it.end(await it.api.stacks.check("s"))
        with pytest.raises(errors.UserError, match="immutable"):
            await it.api.stacks.update("s", Patch(environment={"parameters": {"p": "2"}}))
        assert (await patched(it, Patch()))["stack_status"] == "UPDATE_COMPLETE"

    lab(story)


def test_it_is_a_change_of_what_was_asked_for_last(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await made(it, p="1")
        for failing in ("check", "suspend", "resume"):
            await it.end(await it.act(failing))
        slow = {"a": resource({"get_param": "p"}, wait_secs=0.2)}
        request = it.request(slow, parameters=PARAMETERS, environment={"parameters": {"p": "2"}})
        await it.api.stacks.update("s", request)
        stack = await patched(it, Patch(environment={"parameters": {"q": "3"}}))
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["2"]

    lab(story)


def test_two_changes_at_once_do_not_lose_one_in_silence(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await made(it)
        changes = [Patch(environment={"parameters": {name: "new"}}) for name in ("p", "q")]
        answers = await asyncio.gather(*(it.api.stacks.update("s", one) for one in changes), return_exceptions=True)
        refused = [one for one in answers if isinstance(one, BaseException)]
        await it.end(next(one for one in answers if not isinstance(one, BaseException)))
        assert all(isinstance(one, errors.Conflict) for one in refused)
        assert it.values().count("new") == 2 - len(refused)

    lab(story)


def test_a_plan_of_a_change(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await made(it)
        plan = await it.api.preview.changes("s", Patch(environment={"parameters": {"p": "1"}}))
        assert plan.counts == {"update": 1, "no change": 1}

    lab(story)


def test_what_is_sent_back_masked_stays_as_it_is(lab: Tell) -> None:
    secret = {"type": "string", "hidden": True, "default": "a-long-secret"}

    async def story(it: Lab) -> None:
        await it.create({"a": resource({"get_param": "s"})}, parameters={"s": secret, "p": PARAMETERS["p"]},
                        files={"notes": "It is a-long-secret.", "other": "1"})
        shown, files = await it.api.inputs.template("s"), await it.api.inputs.files("s")
        assert shown["parameters"]["s"]["default"] == "******"
        assert files["notes"] == "It is ******."
        shown["resources"]["b"] = resource({"get_param": "p"})
        stack = await patched(it, Patch(documents.encode(shown), files={**files, "other": "2"}))
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["a-long-secret", "default"]
        assert await it.api.inputs.files("s") == {"notes": "It is ******.", "other": "2"}
        shown["parameters"]["s"]["default"] = "another-secret"
        await patched(it, Patch(documents.encode(shown)))
        assert it.values() == ["another-secret", "default"], "what is sent anew counts"

    lab(story)


@pytest.mark.parametrize(("sent", "kept"), [
    ({"a": ["******", 1]}, {"a": ["x", 1]}),
    ({"a": ["******"]}, {"a": ["******"]}),
    ({"b": "******"}, {"b": "******"}),
    ({"a": "******"}, {"a": "******"}),
])
def test_only_a_mask_in_the_place_of_a_secret_stands_for_it(sent: Any, kept: Any) -> None:
    assert unmasked(sent, {"a": ["******", 1]}, {"a": ["x", 1]}) == kept
