"""Wait conditions and their handles, of Heat and of CloudFormation: the stack continues when enough signals have arrived.

The handle only receives: each signal is a row in its inbox. The wait condition reads the inbox of the handle; a signal
wakes it, and it does not poll. Signals that arrived before the wait began count as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from isotherm import errors
from isotherm.resources import contract, signal_access
from isotherm.resources.context import signal_urls
from isotherm.resources.context.signals import HandledSignal, Inbox, Signal
from isotherm.resources.schema import CACHE_NONE, INTEGER, NUMBER, STRING, AttributeSchema, Schema, Support
from isotherm.template.parameters import constraints

HANDLE, TIMEOUT, COUNT, TRANSPORT = "handle", "timeout", "count", "signal_transport"
SUCCESS, FAILURE = "SUCCESS", "FAILURE"


class WaitConditionFailure(errors.Permanent):
    """A signal reported a failure."""


class WaitConditionTimeout(errors.Permanent):
    """Too few signals arrived in time."""


class _Handle(contract.RowOnly):
    """Receives signals. The field names of a signal differ between the kinds of handles."""

    id_field: ClassVar[str]
    status_field: ClassVar[str]
    reason_field: ClassVar[str]
    data_field: ClassVar[str]
    traits = contract.Traits(signals_awaited_by=("OS::Heat::WaitCondition", "AWS::CloudFormation::WaitCondition"))

    @classmethod
    def handle_signal(cls, details: Any, count: int) -> HandledSignal:
        fields = cls.filled_in(details, count)
        known = {cls.id_field, cls.status_field, cls.reason_field, cls.data_field}
        if not isinstance(fields, Mapping) or fields.keys() != known:
            raise ValueError("Metadata format invalid")
        status, reason = fields[cls.status_field], fields[cls.reason_field]
        if status not in (SUCCESS, FAILURE):
            raise ValueError("Metadata format invalid")
        kept = {"status": status, "reason": str(reason), "data": fields[cls.data_field]}
        return HandledSignal(str(fields[cls.id_field]), kept, f"Signal: status:{status} reason:{reason}"[:1000])

    @classmethod
    def filled_in(cls, details: Any, count: int) -> Any:
        """Return the signal with defaults for missing fields."""
        return details

    @classmethod
    def metadata_with(cls, metadata: Mapping[str, Any], received: Sequence[Signal]) -> Mapping[str, Any]:
        own = {"status": cls.status_field, "reason": cls.reason_field, "data": cls.data_field}
        return {one.key: {own[field]: value for field, value in one.details.items()} for one in received}

    async def handle_create(self) -> object:
        self.physical_id = self.physical_name
        return None


class WaitConditionHandle(_Handle):
    """Receives signals: a JSON map with id, status, reason and data, each of them optional."""

    TYPE = "OS::Heat::WaitConditionHandle"
    DESCRIPTION = "Receives signals from the world, for wait conditions to count."
    support = Support(version="2014.2")
    id_field, status_field, reason_field, data_field = "id", "status", "reason", "data"
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        TRANSPORT: Schema(
            STRING,
            "How signals come. TOKEN_SIGNAL, HEAT_SIGNAL and CFN_SIGNAL: through the Orchestration API, at an "
            "address that is signed. NO_SIGNAL: none is announced. The others need services of a cloud.",
            default=signal_urls.TOKEN,
            support=Support(version="6.0.0"),
            constraints=(
                constraints.AllowedValues(
                    allowed=(
                        signal_urls.CFN,
                        signal_urls.TEMP_URL,
                        signal_urls.HEAT,
                        signal_urls.NO,
                        signal_urls.ZAQAR,
                        signal_urls.TOKEN,
                    )
                ),
            ),
        ),
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        "token": AttributeSchema("What makes the endpoint good, with TOKEN_SIGNAL; the endpoint has it in it.", STRING,
                                 CACHE_NONE),
        "endpoint": AttributeSchema("The URL to signal to, with TOKEN_SIGNAL.", STRING, CACHE_NONE),
        "curl_cli": AttributeSchema(
            "The beginning of a curl command that signals, with TOKEN_SIGNAL; add --data-binary "
            "'{\"status\": \"SUCCESS\"}' to it.", STRING, CACHE_NONE),
        "signal": AttributeSchema("What a client has to know to signal, as JSON text.", STRING, CACHE_NONE),
    }

    @classmethod
    def filled_in(cls, details: Any, count: int) -> Any:
        if details is not None and not isinstance(details, Mapping):
            return details
        number = count + 1
        missing = {"id": number, "status": SUCCESS, "reason": f"Signal {number} received", "data": None}
        return {**missing, **(details or {})}

    async def handle_create(self) -> object:
        self.context.signal_urls.require(self.properties[TRANSPORT])
        await signal_access.user(self, self.properties[TRANSPORT])
        self.physical_id = self.physical_name
        signal_access.admit(self)
        return None

    async def handle_suspend(self) -> object:
        await signal_access.enable(self, False)
        return None

    async def handle_resume(self) -> object:
        await signal_access.enable(self, True)
        return None

    async def attribute(self, name: str) -> object:
        url = signal_access.signed_url(self)
        if name == "signal":
            return json.dumps(await self._announced(url))
        if not url or self.properties[TRANSPORT] != signal_urls.TOKEN:
            return None
        if name == "token":
            return signal_urls.signature_in(url)
        if name == "endpoint":
            return url
        return f"curl -i -X POST -H 'Content-Type: application/json' -H 'Accept: application/json' '{url}'"

    async def _announced(self, url: str | None) -> dict[str, Any] | None:
        transport, users = self.properties[TRANSPORT], self.context.stack_users
        if transport == signal_urls.NO:
            return {}
        user = await users.find(self.token) if users is not None and transport == signal_urls.HEAT else None
        if user is not None:
            own = self.context.signal_urls.resource_url(user.project_id, self.stack_name, self.stack_id, self.name)
            return {"alarm_url": own, "auth_url": user.auth_url, "username": user.username, "user_id": user.user_id,
                    "password": user.password, "project_id": user.project_id, "domain_id": user.domain_id,
                    "region_name": user.region}
        return {"alarm_url": url} if transport in (signal_urls.HEAT, signal_urls.CFN) else None


class CloudFormationHandle(_Handle):
    """Receives signals in CloudFormation's form, by PUT to the URL that is its reference."""

    TYPE = "AWS::CloudFormation::WaitConditionHandle"
    DESCRIPTION = "Receives signals in CloudFormation's form: a map with UniqueId, Status, Reason and Data."
    support = Support(version="2014.1")
    id_field, status_field, reason_field, data_field = "UniqueId", "Status", "Reason", "Data"

    async def handle_create(self) -> object:
        signal_access.admit(self)
        return await super().handle_create()

    async def reference(self) -> object:
        """Return the URL to signal to if there is one, as in Heat."""
        return signal_access.signed_url(self, "PUT") or await super().reference()


class UpdateWaitConditionHandle(CloudFormationHandle):
    """Is replaced by each update, so that all signals have to arrive again."""

    TYPE = "OS::Heat::UpdateWaitConditionHandle"
    DESCRIPTION = "Receives signals, and is replaced by each update of the stack, so that signals have to come again."
    traits = replace(_Handle.traits, replaced_by_each_update=True)


HANDLES = frozenset({WaitConditionHandle.TYPE, CloudFormationHandle.TYPE, UpdateWaitConditionHandle.TYPE})


class WaitCondition(contract.RowOnly):
    """Is complete when its handle has received enough signals."""

    TYPE = "OS::Heat::WaitCondition"
    DESCRIPTION = "Waits until a handle has received a number of signals; fails if one says so, or if time runs out."
    traits = contract.Traits(only_waits=True)
    support = Support(version="2014.2")
    handle_name, timeout_name, count_name = HANDLE, TIMEOUT, COUNT
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        HANDLE: Schema(STRING, "The handle whose signals count.", required=True),
        TIMEOUT: Schema(NUMBER, "How long to wait for the signals, in seconds.", required=True,
                        constraints=(constraints.Range(minimum=1, maximum=43200),)),
        COUNT: Schema(INTEGER, "How many signals of success are waited for.", default=1, update_allowed=True,
                      constraints=(constraints.Range(minimum=1),)),
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        "data": AttributeSchema("The data of all signals, by their id, as JSON text.", STRING, CACHE_NONE),
    }

    @classmethod
    def bound_to_stack(cls, properties: Mapping[str, Any]) -> str:
        return "it waits for signals of a resource of its stack"

    async def handle_create(self) -> object:
        await self._handle()
        self.physical_id = self.physical_name
        return self._begin()

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        return await self._enough(progress)

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        return self._begin()

    async def check_update_complete(self, progress: Any) -> bool | contract.Wait:
        return await self._enough(progress)

    async def handle_delete(self) -> object:
        # A later condition with this handle must wait for new signals.
        inbox = await self._inbox()
        if inbox is not None and inbox.signals and self.context.signals is not None:
            await self.context.signals.clear(inbox)
        return None

    async def reference(self) -> object:
        return self.name

    async def attribute(self, name: str) -> object:
        inbox = await self._inbox()
        if inbox is None:
            return ""
        return json.dumps({one.key: one.details["data"] for one in inbox.signals})

    def _begin(self) -> dict[str, Any]:
        return {"until": self.context.clock.now() + self.properties[self.timeout_name]}

    async def _inbox(self) -> Inbox | None:
        return await signal_access.inbox(self, signal_urls.token_in(self.properties[self.handle_name]))

    async def _handle(self) -> Inbox:
        inbox = await self._inbox()
        if inbox is None or inbox.type not in HANDLES:
            raise ValueError(f"{self.properties[self.handle_name]} is not a valid wait condition handle.")
        return inbox

    async def _enough(self, progress: Any) -> bool | contract.Wait:
        inbox, wanted = await self._handle(), self.properties[self.count_name]
        reasons = {status: [one.details["reason"] for one in inbox.signals if one.details["status"] == status]
                   for status in (SUCCESS, FAILURE)}
        if reasons[FAILURE]:
            raise WaitConditionFailure(";".join(reasons[FAILURE]))
        received = reasons[SUCCESS]
        if len(received) >= wanted:
            return True
        left = progress["until"] - self.context.clock.now()
        if left <= 0:
            texts = f" - {';'.join(received)}" if received else ""
            raise WaitConditionTimeout(f"{len(received)} of {wanted} received{texts}")
        return contract.wait_for(inbox, left, f"{len(received)} of {wanted} signals received")


class CloudFormationWaitCondition(WaitCondition):
    """The same, with the names of CloudFormation."""

    TYPE = "AWS::CloudFormation::WaitCondition"
    support = Support(version="2014.1")
    handle_name, timeout_name, count_name = "Handle", "Timeout", "Count"
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        "Handle": Schema(STRING, "The handle whose signals count.", required=True),
        "Timeout": Schema(INTEGER, "How long to wait for the signals, in seconds.", required=True,
                          constraints=(constraints.Range(minimum=1, maximum=43200),)),
        "Count": Schema(INTEGER, "How many signals of success are waited for.", default=1, update_allowed=True,
                        constraints=(constraints.Range(minimum=1),)),
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        "Data": AttributeSchema("The data of all signals, by their id, as JSON text.", STRING, CACHE_NONE),
    }
