"""The one call of CloudFormation's API that guests make: DescribeStackResource, signed with the EC2 key of a stack user.

The agent os-collect-config polls it, with POLL_SERVER_CFN. Keystone checks the signature, and tells whose key it is. Other
calls of that API are not offered.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from urllib.parse import parse_qsl
from xml.etree import ElementTree as Xml

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from isotherm import errors
from isotherm.api.handlers.signed_signals import RATE
from isotherm.api.http import faults
from isotherm.api.policy.enforcer import Policy
from isotherm.api.request.service import ApiPorts
from isotherm.identity.caller import Caller
from isotherm.identity.requester import Requester
from isotherm.resources.context.signal_urls import CFN_PATH

_ACTION = "DescribeStackResource"
_MOST_BYTES = 16_384


class _Refused(Exception):
    """The request is answered with an error, in the form of CloudFormation."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


def route(service: ApiPorts, policy: Policy) -> Route:
    """Return the route of the call."""

    async def serve(request: Request) -> Response:
        request.scope["state"]["route"] = CFN_PATH
        try:
            return _xml(await _described(request, service, policy))
        except _Refused as error:
            return _error(error.status, error.code, str(error))
        except (errors.NotFound, faults.Fault) as error:
            status = error.status if isinstance(error, faults.Fault) else 400
            return _error(status, "AccessDenied" if status == 403 else "ValidationError", str(error))
        except errors.CloudError:
            return _error(503, "ServiceUnavailable", "The identity service does not answer.")

    return Route(CFN_PATH, serve, methods=["GET", "POST"])


async def _described(request: Request, service: ApiPorts, policy: Policy) -> Xml.Element:
    given = await _parameters(request)
    if given.get("Action") != _ACTION:
        raise _Refused(400, "InvalidAction", f"Only {_ACTION} is offered here.")
    user_id = await _signer(request, given, service)
    found = await service.stack_users.resource_of(user_id) if service.stack_users and user_id else None
    stack = given.get("StackName", "").rpartition("/")[2]
    resource = given.get("LogicalResourceId", "")
    if found is None or (stack, resource) != (found.stack_id, found.resource_name):
        raise _Refused(403, "AccessDenied", "The signature is not that of the user of this resource.")
    roles = frozenset({service.settings.heat_stack_user_role})
    caller = Caller(found.project, user_id or "", roles=roles, stack_user=(found.stack_id, found.resource_name))
    policy.check(f"cloudformation:{_ACTION}", caller, {"project_id": found.project})
    metadata = await service.orchestrator_for(Requester(found.project)).resources.metadata(stack, resource)
    return _detail(given, metadata)


async def _signer(request: Request, given: Mapping[str, str], service: ApiPorts) -> str | None:
    """Return the id of the user whose key has signed the request; None if it is not signed well."""
    access, signature = given.get("AWSAccessKeyId", ""), given.get("Signature", "")
    if service.stack_users is None or not access or not signature:
        return None
    RATE.check(access, time.monotonic())
    return await service.stack_users.signer({
        "access": access, "signature": signature, "host": request.headers.get("host", ""), "verb": request.method,
        "path": request.url.path, "params": {name: value for name, value in given.items() if name != "Signature"}})


async def _parameters(request: Request) -> dict[str, str]:
    """Return the parameters of the query, or of the form in the body."""
    if request.method == "GET":
        return dict(request.query_params)
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > _MOST_BYTES:
            raise _Refused(413, "RequestEntityTooLarge", "The request is too large.")
    return dict(parse_qsl(raw.decode("utf-8", "replace"), keep_blank_values=True))


def _detail(given: Mapping[str, str], metadata: object) -> Xml.Element:
    root = Xml.Element(f"{_ACTION}Response")
    detail = Xml.SubElement(Xml.SubElement(root, f"{_ACTION}Result"), "StackResourceDetail")
    for name, value in (("StackName", given["StackName"]), ("LogicalResourceId", given["LogicalResourceId"]),
                        ("Metadata", json.dumps(metadata))):
        Xml.SubElement(detail, name).text = value
    return root


def _error(status: int, code: str, message: str) -> Response:
    root = Xml.Element("ErrorResponse")
    error = Xml.SubElement(root, "Error")
    for name, value in (("Type", "Sender" if status < 500 else "Server"), ("Code", code), ("Message", message)):
        Xml.SubElement(error, name).text = value
    return _xml(root, status)


def _xml(root: Xml.Element, status: int = 200) -> Response:
    return Response(Xml.tostring(root, encoding="utf-8"), status, media_type="application/xml")
