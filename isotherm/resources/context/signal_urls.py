"""How the world reaches this engine: the address of its API, and which ways to signal it there are.

Heat's types let a template choose a transport for signals. Some of these need services of a cloud (an object store, a
queue); where there is none, choosing one fails when the resource is made, and says why. What Heat has an identity service
sign, is signed here: an address that takes signals for one resource, from whoever knows it, until a moment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import quote

from isotherm import errors
from isotherm.secrets.signing import Signer

CFN, TEMP_URL, HEAT, NO, ZAQAR, TOKEN = (
    "CFN_SIGNAL", "TEMP_URL_SIGNAL", "HEAT_SIGNAL", "NO_SIGNAL", "ZAQAR_SIGNAL", "TOKEN_SIGNAL")

_NEEDS = {
    CFN: "an API that takes signed requests (`isotherm up` serves one)",
    TEMP_URL: "an object store",
    ZAQAR: "a message queue",
}
_WITHOUT_API = frozenset({HEAT, NO, TOKEN})
DAY_S = 24 * 3600


@dataclass(frozen=True, slots=True)
class SignalUrls:
    """What there is. `address` is the Orchestration API's, without a path; none while the engine runs in a command."""

    address: str = ""
    project: str = ""
    signer: Signer | None = None
    # How long a signed address is good.
    lifetime_s: int = 30 * DAY_S

    def of(self, project: str) -> SignalUrls:
        """The same, for the resources of a project."""
        return replace(self, project=project)

    def require(self, transport: str) -> None:
        """Raises Permanent if the transport cannot be used here."""
        offered = _WITHOUT_API | {CFN} if self.address and self.signer else _WITHOUT_API
        if transport not in offered:
            raise errors.Permanent(
                f"signal_transport {transport} needs {_NEEDS.get(transport, 'a cloud')}, and there is none here. "
                f"Use one of: {', '.join(sorted(offered))}."
            )

    def signal_url(self, stack_name: str, stack_id: str, resource: str) -> str | None:
        """Where somebody signals who has a token."""
        return self._url("stacks", stack_name, stack_id, "resources", resource, "signal") if self.address else None

    def signed_url(self, method: str, stack_id: str, token: str, until: int) -> str | None:
        """Where anybody signals who knows it: one version of one resource, by one method, until a moment.

        It is the same each time that it is asked for, so that those who use it see no change.
        """
        if not self.address or self.signer is None:
            return None
        url = self._url("signal", stack_id, token)
        signature = self.signer.sign(method, url.removeprefix(self.address.rstrip("/")), until)
        return f"{url}?expires={until}&signature={signature}"

    def _url(self, *path: str) -> str:
        return "/".join([self.address.rstrip("/"), "v1", *(quote(part, safe="") for part in (self.project, *path))])


def signature_in(url: str) -> str:
    return url.rpartition("&signature=")[2]


def token_in(reference: str) -> str:
    """The token of the resource that a signed address leads to; what is no such address stands for itself."""
    path = reference.partition("?")[0].split("/")
    return path[-1] if reference.startswith(("http://", "https://")) and path[-3:-2] == ["signal"] else reference
