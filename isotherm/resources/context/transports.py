"""The ways in which a server learns which deployments to apply: the configuration of its agent, os-collect-config.

With stack users, the agent logs in as the user of its server: with an EC2 key at the CloudFormation API (POLL_SERVER_CFN),
or with a password at the Orchestration API (POLL_SERVER_HEAT). Without stack users it reads the metadata at a URL that is
signed for this server, if an API is served. With POLL_TEMP_URL it reads an object of Swift, see `swift.agent_metadata`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from isotherm import errors
from isotherm.resources.context import stack_users
from isotherm.resources.context.context import Context

CFN, HEAT, TEMP_URL, ZAQAR = "POLL_SERVER_CFN", "POLL_SERVER_HEAT", "POLL_TEMP_URL", "ZAQAR_MESSAGE"
ALL = (CFN, HEAT, TEMP_URL, ZAQAR)
KEY = "os-collect-config"
# The section of each transport, with all its keys.
_SECTIONS = {
    CFN: ("cfn", ("metadata_url", "access_key_id", "secret_access_key", "stack_name", "path")),
    HEAT: ("heat", ("user_id", "password", "auth_url", "project_id", "stack_id", "resource_name", "region_name")),
    TEMP_URL: ("request", ("metadata_url",)),
    ZAQAR: ("zaqar", ("user_id", "password", "auth_url", "project_id", "queue_id", "region_name")),
}
_FORMER = "former_transports"
# The key of a resource's data: the objects that its agent reads or has read. The last one has a URL if it is read.
PLACES, URL = "metadata_objects", "url"


class Polled(Protocol):
    """The parts of a resource whose agent polls."""

    name: str
    stack_name: str
    stack_id: str
    token: str
    data: dict[str, Any]
    context: Context


async def prepare(resource: Polled, transport: str, always: str) -> None:
    """Create the user that a server logs in as. Raises Permanent if the transport cannot be used here.

    The transport `always` is allowed even where neither stack users nor an API are.
    """
    if transport == ZAQAR:
        raise errors.Permanent(f"software_config_transport {transport} needs a message queue, and there is none here. "
                               f"Use one of: {CFN}, {HEAT}, {TEMP_URL}.")
    if transport == TEMP_URL:
        if resource.context.cloud is None:
            raise errors.Permanent(f"software_config_transport {transport} needs the object store of a cloud, and there is "
                                   f"none here. Use one of: {CFN}, {HEAT}.")
        return
    users, urls = resource.context.stack_users, resource.context.signal_urls
    if users is not None:
        await users.ensure(resource.stack_id, resource.token, resource.name, with_key=transport == CFN)
    elif transport != always and not urls.address:
        raise errors.Permanent(f"software_config_transport {transport} needs an API that servers can reach, and none is "
                               f"served here. Run `isotherm up`. {stack_users.HINT}")


def changed(resource: Polled, before: str | None) -> None:
    """Record that a transport is not used any more: its section of the server's configuration is emptied."""
    former = resource.data.get(_FORMER, [])
    if before and before not in former:
        resource.data[_FORMER] = [*former, before]


def object_url(data: dict[str, Any]) -> str:
    """Return the signed URL of the object that an agent reads; empty if it reads none."""
    places = data.get(PLACES) or [{}]
    return str(places[-1].get(URL, ""))


async def collect_config(
    resource: Polled, transport: str, first: Sequence[str] = ("ec2",)
) -> dict[str, Any]:
    """Return the configuration of the agent; `first` are the collectors that it asks before all others."""
    nothing = {name: dict.fromkeys(keys) for name, keys in
               (_SECTIONS[one] for one in resource.data.get(_FORMER, ()) if one != transport)}
    section, values = await _section(resource, transport)
    collectors = [*first, *([section] if section else ()), "local"]
    return {**nothing, **({section: values} if section else {}), "collectors": collectors}


async def _section(resource: Polled, transport: str) -> tuple[str, dict[str, Any]]:
    if transport == TEMP_URL:
        return "request", {"metadata_url": object_url(resource.data)}
    users, urls = resource.context.stack_users, resource.context.signal_urls
    stack = f"{resource.stack_name}/{resource.stack_id}"
    user = None if users is None else await users.find(resource.token)
    if user is None:
        url = urls.metadata_url(resource.stack_id, resource.token)
        return ("request", {"metadata_url": url}) if url else ("", {})
    if transport == HEAT:
        return "heat", {"user_id": user.user_id, "password": user.password, "auth_url": user.auth_url,
                        "project_id": user.project_id, "stack_id": stack, "resource_name": resource.name,
                        "region_name": user.region}
    return "cfn", {"metadata_url": urls.cfn_url(), "access_key_id": user.access_key,
                   "secret_access_key": user.secret_key, "stack_name": stack, "path": f"{resource.name}.Metadata"}
