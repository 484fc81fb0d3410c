"""Deployments: a server applies a config and reports the result.

For each action of the deployment, a config is derived from the source, with the values of its inputs and with what the
server needs to report. The report is a signal to this resource. Only signals that arrived after the config was
published count.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from msgspec.structs import replace

from isotherm import errors
from isotherm.resources import contract, signal_access
from isotherm.resources.context import signal_urls, software
from isotherm.resources.context.signals import HandledSignal, Inbox
from isotherm.resources.openstack import rest
from isotherm.resources.openstack.swift import agent_metadata, answers
from isotherm.resources.schema import LIST, MAP, STRING, AttributeSchema, Schema, Support
from isotherm.template.parameters import constraints

CONFIG, SERVER, VALUES, ACTIONS, NAME, TRANSPORT = (
    "config", "server", "input_values", "actions", "name", "signal_transport")
# A signal wakes the resource. This is the longest wait if that wake-up is lost.
_LOOK_ANYWAY_S = 3600.0
_PUBLISHED = "published"


class Error(errors.Permanent):
    """The server reported a failure. Heat's users read this name."""


class SoftwareDeployment(contract.Resource):
    """A config on a server."""

    TYPE = "OS::Heat::SoftwareDeployment"
    DESCRIPTION = "Has a server apply a software configuration, and waits for what comes of it."
    support = Support(version="2014.1")
    # Signals are taken during any action: the server answers what it was asked to do.
    traits = contract.Traits(has_more_attributes=True, only_waits=True, no_signal_actions=(), signals_awaited_by=(TYPE,))
    nothing: ClassVar[Any] = ""
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        CONFIG: Schema(STRING, "The id of the software config to apply.", update_allowed=True),
        SERVER: Schema(STRING, "The id of the server to apply it to.", required=True),
        VALUES: Schema(MAP, "Values for the inputs of the config.", update_allowed=True),
        ACTIONS: Schema(
            LIST,
            "The actions at which the config is applied.",
            default=["CREATE", "UPDATE"],
            update_allowed=True,
            constraints=(constraints.AllowedValues(allowed=("CREATE", "UPDATE", "DELETE", "SUSPEND", "RESUME")),),
        ),
        NAME: Schema(
            STRING,
            "The name of the derived config: servers apply their configs in the order of names.",
            update_allowed=True,
        ),
        TRANSPORT: Schema(
            STRING,
            "How the server answers. HEAT_SIGNAL and CFN_SIGNAL: through the Orchestration API, at an address that "
            "is signed. TEMP_URL_SIGNAL: through an object store. NO_SIGNAL: it does not. ZAQAR_SIGNAL needs a cloud.",
            default=signal_urls.CFN,
            constraints=(
                constraints.AllowedValues(
                    allowed=(signal_urls.CFN, signal_urls.TEMP_URL, signal_urls.HEAT, signal_urls.NO, signal_urls.ZAQAR)
                ),
            ),
        ),
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        software.STDOUT: AttributeSchema("What the config wrote to its standard output.", STRING),
        software.STDERR: AttributeSchema("What the config wrote to its standard error.", STRING),
        software.STATUS_CODE: AttributeSchema("The status with which it ended.", STRING),
    }

    @classmethod
    def handle_signal(cls, details: Any, count: int) -> HandledSignal:
        if details is not None and not isinstance(details, Mapping):
            raise ValueError("The outputs of a deployment are a map.")
        given = dict(details or {})
        code = given.get(software.STATUS_CODE)
        outcome = f"failed ({code})" if code and str(code) != "0" else "succeeded"
        return HandledSignal("outputs", given, f"Signal: deployment {outcome}")

    async def handle_create(self) -> object:
        return await self._deploy("CREATE")

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        return await self._answered(progress)

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if await self._another_is_needed():
            # An input has changed that means another deployment: the server sees one come and the other go.
            await self._withdraw()
            self.data["number"] = self.data.get("number", 0) + 1
            self.physical_id = None
            return await self._deploy("CREATE")
        return await self._deploy("UPDATE")

    async def check_update_complete(self, progress: Any) -> bool | contract.Wait:
        return await self._answered(progress)

    async def handle_delete(self) -> object:
        if self.physical_id is None or await signal_access.inbox(self, self.properties[SERVER]) is None:
            # The server is gone and cannot report.
            return {"idle": True}
        return await self._deploy("DELETE")

    async def check_delete_complete(self, progress: Any) -> bool | contract.Wait:
        answer = await self._answered(progress)
        if answer is True:
            await self._withdraw()
        return answer

    async def handle_suspend(self) -> object:
        return await self._deploy("SUSPEND")

    async def check_suspend_complete(self, progress: Any) -> bool | contract.Wait:
        answer = await self._answered(progress)
        if answer is True:
            # The server has given its last answer.
            await signal_access.enable(self, False)
        return answer

    async def handle_resume(self) -> object:
        await signal_access.enable(self, True)
        return await self._deploy("RESUME")

    async def check_resume_complete(self, progress: Any) -> bool | contract.Wait:
        return await self._answered(progress)

    async def find_by_token(self) -> contract.Search:
        found = await self._software.deployment(self.stack_id, self._own_id())
        return contract.Absent() if found is None else contract.Found(found.id)

    async def attribute(self, name: str) -> object:
        found = await self._software.deployment(self.stack_id, self.physical_id) if self.physical_id else None
        return None if found is None else (found.output_values or {}).get(name)

    # Putting a config up.

    @property
    def _software(self) -> software.Software:
        if self.context.software is None:
            raise errors.Bug("this engine keeps no software configs")
        return self.context.software

    def _own_id(self) -> str:
        return software.id_for(self.token, "deployment", self.data.get("number", 0))

    async def _deploy(self, action: str) -> object:
        """Publish the config for the server; the progress says from which signal on an answer counts."""
        source = await self._source()
        if action not in _actions(source, self.properties[ACTIONS]):
            return {"idle": True}
        if not self._is_by_object:
            self.context.signal_urls.require(self.properties[TRANSPORT])
        await signal_access.user(self, self.properties[TRANSPORT])
        signal_access.admit(self)
        inbox = await signal_access.inbox(self)
        seen = 0 if inbox is None else inbox.seen
        id_ = self.physical_id or self._own_id()
        older = await self._software.deployment(self.stack_id, id_)
        # Stored together with the progress: a step that is repeated after a crash has the same number again.
        number = self.data.get("deployed", 0)
        derived = await self._derived(source, action, software.id_for(self.token, "config", id_, action, seen, number))
        await self._software.create_config(self.stack_id, derived)
        await self._software.put_deployment(self.stack_id, self._put_up(id_, derived.id, action))
        if older is not None and older.config_id != derived.id:
            await self._software.delete_config(self.stack_id, older.config_id)
            if self._is_by_object:
                await answers.forget(self._cloud, self.physical_name, older.config_id)
        self.physical_id, self.data["deployed"] = id_, number + 1
        return {"seen": seen}

    @property
    def _cloud(self) -> contract.Cloud:
        return rest.require(self.context.cloud)

    @property
    def _is_by_object(self) -> bool:
        """Return whether the server puts its answer into an object of Swift."""
        return self.properties[TRANSPORT] == signal_urls.TEMP_URL and self.context.cloud is not None

    def _put_up(self, id_: str, config_id: str, action: str) -> software.Deployment:
        waits = self.properties[TRANSPORT] != signal_urls.NO
        return software.Deployment(
            id_, self.properties[SERVER], config_id, action, software.IN_PROGRESS if waits else software.COMPLETE,
            "Deploy data available" if waits else "Not waiting for outputs signal", self.properties[VALUES],
        )

    async def _source(self) -> software.Config:
        id_ = self.properties[CONFIG]
        if not id_:
            return software.Config("", "")
        found = await self._software.config(self.stack_id, id_)
        if found is None:
            raise errors.Permanent(f"The Software config ({id_}) could not be found.")
        return found

    async def _derived(self, source: software.Config, action: str, id_: str) -> software.Config:
        inputs = await self._inputs(source, action, id_)
        config = self.derived_config(source, {one["name"]: one.get("value") for one in inputs})
        name = self.properties[NAME] or source.name or self.physical_name
        return replace(source, id=id_, name=name, config=config or self.nothing, inputs=inputs)

    def derived_config(self, source: software.Config, values: Mapping[str, Any]) -> Any:
        """Return the content of the derived config."""
        return source.config

    async def _inputs(self, source: software.Config, action: str, config_id: str = "") -> list[dict[str, Any]]:
        """Return the inputs of the source with values, values without an input, and what the server needs to report."""
        given = dict(self.properties[VALUES] or {})
        inputs = [{**one, "value": given.pop(one["name"], one.get("default"))} for one in source.inputs]
        inputs += [_input(name, value) for name, value in given.items()]
        inputs += [
            _input("deploy_server_id", self.properties[SERVER], "The id of the server that this goes to"),
            _input("deploy_action", action, "The action at which this is run"),
            _input("deploy_stack_id", f"{self.stack_name}/{self.stack_id}", "The stack that this is part of: name and id"),
            _input("deploy_resource_name", self.name, "What this is called in its stack"),
            _input("deploy_signal_transport", self.properties[TRANSPORT],
                   "The way on which the results come back"),
        ]
        return inputs + await self._way_back(config_id)

    async def _way_back(self, config_id: str) -> list[dict[str, Any]]:
        """Return the inputs with which the server reports."""
        transport, users = self.properties[TRANSPORT], self.context.stack_users
        if transport == signal_urls.NO:
            return []
        if self._is_by_object:
            url = await answers.ask(self._cloud, self.physical_name, config_id) if config_id else None
            return _reports_to(url, answers.METHOD)
        user = await users.find(self.token) if users is not None and transport == signal_urls.HEAT else None
        if user is not None:
            return [_input("deploy_auth_url", user.auth_url, "Where the user of the signal logs in"),
                    _input("deploy_username", user.username, "The name of that user"),
                    _input("deploy_user_id", user.user_id, "The id of that user"),
                    _input("deploy_password", user.password, "The password of that user"),
                    _input("deploy_project_id", user.project_id, "The project of that user"),
                    _input("deploy_region_name", user.region, "The region of the Orchestration API")]
        return _reports_to(signal_access.signed_url(self), "POST")

    async def _another_is_needed(self) -> bool:
        """Return whether an input changed that requires a new deployment."""
        found = await self._software.deployment(self.stack_id, self.physical_id) if self.physical_id else None
        applied = None if found is None else await self._software.config(self.stack_id, found.config_id)
        if applied is None:
            return False
        before = {one["name"]: one.get("value") for one in applied.inputs}
        after = await self._inputs(await self._source(), "UPDATE")
        return any(one.get("replace_on_change") and one["name"] in before and before[one["name"]] != one.get("value")
                   for one in after)

    async def _withdraw(self) -> None:
        if self._is_by_object:
            await answers.forget_all(self._cloud, self.physical_name)
        if self.physical_id is None:
            return
        found = await self._software.deployment(self.stack_id, self.physical_id)
        if found is not None:
            await self._software.delete_deployment(self.stack_id, found.id)
            await self._software.delete_config(self.stack_id, found.config_id)
        await self._publish()

    async def _publish(self) -> None:
        """Have the agent of the server learn of the deployment, if it reads an object instead of the API."""
        await agent_metadata.publish(self.context, self.stack_id, self.properties[SERVER])

    # Waiting for the answer.

    async def _answered(self, progress: Any) -> bool | contract.Wait:
        """Return whether the server has reported; raises Error if it reported a failure."""
        # Read first: a change of the deployment after this count wakes the resource.
        inbox = await signal_access.inbox(self)
        found = await self._software.deployment(self.stack_id, self.physical_id) if self.physical_id else None
        if found is None or (progress or {}).get("idle"):
            return True
        progress = dict(progress or {})
        if not progress.get(_PUBLISHED):
            # Here and not with the row: after a crash the row may be there, and the object not be written.
            await self._publish()
            progress[_PUBLISHED] = True
        if found.status == software.IN_PROGRESS:
            if inbox is None:
                raise errors.Bug("a resource without an inbox")
            details = await self._details(inbox, found, progress.get("seen", 0))
            if details is None:
                waits = f"waiting for server {found.server_id} to signal"
                if self._is_by_object:
                    return contract.Wait(reason=waits, progress=progress)
                return contract.wait_for(inbox, _LOOK_ANYWAY_S, waits, progress)
            found = await self._record(found, details)
        if found.status == software.FAILED:
            raise Error(f"Deployment to server failed: {found.status_reason}")
        return True

    async def _details(self, inbox: Inbox, deployment: software.Deployment, seen: int) -> Mapping[str, Any] | None:
        """Return what the server has reported since the config was published, or None."""
        details = next((one.details for one in inbox.signals if one.number > seen), None)
        if details is None and self._is_by_object:
            return await answers.answer(self._cloud, self.physical_name, deployment.config_id)
        return details

    async def _record(self, deployment: software.Deployment, details: Mapping[str, Any]) -> software.Deployment:
        config = await self._software.config(self.stack_id, deployment.config_id)
        status, reason, values = software.outcome(() if config is None else config.outputs, details)
        ended = replace(deployment, status=status, status_reason=reason, output_values=values)
        await self._software.put_deployment(self.stack_id, ended)
        return ended


def _actions(source: software.Config, own: Sequence[str]) -> Sequence[str]:
    """Return the actions that apply something: those of a component's configs, or of the deployment."""
    if source.group != software.COMPONENT:
        return own
    return [action for one in source.config["configs"] for action in one["actions"]]


def _reports_to(url: str | None, method: str) -> list[dict[str, Any]]:
    return [] if not url else [_input("deploy_signal_id", url, "Where the results are to be sent"),
                               _input("deploy_signal_verb", method, "The method by which they are sent")]


def _input(name: str, value: Any, description: str = "") -> dict[str, Any]:
    described = {"description": description} if description else {}
    return {"name": name, **described, "type": "String", "value": value}


class StructuredDeployment(SoftwareDeployment):
    """A config that is a map, with the values of its inputs inserted."""

    TYPE = "OS::Heat::StructuredDeployment"
    traits = dataclasses.replace(SoftwareDeployment.traits, signals_awaited_by=(TYPE,))
    DESCRIPTION = "Has a server apply a configuration that is a map, with the values of inputs put into it."
    nothing: ClassVar[Any] = {}
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        **SoftwareDeployment.properties_schema,
        "input_key": Schema(STRING, "The key of the maps that are replaced by the value of an input.", default="get_input"),
        "input_values_validate": Schema(
            STRING, "STRICT: an input without a value is an error.", default="LAX",
            constraints=(constraints.AllowedValues(allowed=("LAX", "STRICT")),)),
    }

    def derived_config(self, source: software.Config, values: Mapping[str, Any]) -> Any:
        strict = self.properties["input_values_validate"] == "STRICT"
        return _filled_in(source.config, self.properties["input_key"], values, strict=strict)


def _filled_in(part: Any, key: str, values: Mapping[str, Any], *, strict: bool) -> Any:
    """Return the data with each map {key: name} replaced by the value of that input."""
    if isinstance(part, Mapping):
        name = part.get(key) if len(part) == 1 else None
        if not isinstance(name, str):
            return {inner: _filled_in(value, key, values, strict=strict) for inner, value in part.items()}
        if strict and name not in values:
            raise errors.UserError(f"The Parameter ({name}) was not provided.", kind="UserParameterMissing")
        return values.get(name)
    if isinstance(part, list):
        return [_filled_in(value, key, values, strict=strict) for value in part]
    return part
