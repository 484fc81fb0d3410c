"""How the world reaches this engine: the address of its API, and which ways to signal it there are.

Heat's types let a template choose a transport for signals. Some of these need services of a cloud (an object store, a
queue, an identity service that signs); where there is none, choosing one fails when the resource is made, and says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from isotherm import errors

CFN, TEMP_URL, HEAT, NO, ZAQAR, TOKEN = (
    "CFN_SIGNAL", "TEMP_URL_SIGNAL", "HEAT_SIGNAL", "NO_SIGNAL", "ZAQAR_SIGNAL", "TOKEN_SIGNAL")

_NEEDS = {
    CFN: "an API that takes signed requests (the CloudFormation API)",
    TEMP_URL: "an object store",
    ZAQAR: "a message queue",
}


@dataclass(frozen=True, slots=True)
class Doors:
    """What there is. `api_url` is the Orchestration API's, with the project; none while the engine runs in a command."""

    api_url: str = ""
    transports: frozenset[str] = frozenset({HEAT, NO, TOKEN})

    def require(self, transport: str) -> None:
        """Raises Permanent if the transport cannot be used here."""
        if transport not in self.transports:
            offered = ", ".join(sorted(self.transports))
            raise errors.Permanent(
                f"signal_transport {transport} needs {_NEEDS.get(transport, 'a cloud')}, and there is none here. "
                f"Use one of: {offered}."
            )

    def signal_url(self, stack_name: str, stack_id: str, resource: str) -> str | None:
        if not self.api_url:
            return None
        path = "/".join(quote(part, safe="") for part in ("stacks", stack_name, stack_id, "resources", resource, "signal"))
        return f"{self.api_url.rstrip('/')}/{path}"
