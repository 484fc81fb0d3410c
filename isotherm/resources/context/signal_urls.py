"""URLs at which resources are signalled, and the signal transports that are available.

Heat's types let a template choose a transport. Some need cloud services (an object store, a queue); where there is
none, creating the resource fails and says so. In place of Heat's pre-signed URLs of an identity service, URLs are
signed here: for one resource, until a time, usable by every caller that has the URL.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import quote

from isotherm import errors
from isotherm.secrets.signing import Signer

# Where the API takes requests of CloudFormation's form.
CFN_PATH = "/cfn/v1/"

CFN, TEMP_URL, HEAT, NO, ZAQAR, TOKEN = (
    "CFN_SIGNAL", "TEMP_URL_SIGNAL", "HEAT_SIGNAL", "NO_SIGNAL", "ZAQAR_SIGNAL", "TOKEN_SIGNAL")

_NEEDS = {
    CFN: "an API that takes signed requests (`isotherm up` serves one)",
    TEMP_URL: "an object store",
    ZAQAR: "a message queue",
}
_WITHOUT_API = frozenset({HEAT, NO, TOKEN})
DAY_S = 24 * 3600
# URLs of metadata are valid as long as the version of the resource exists: this is a year far away.
_FOREVER = 99_999_999_999


@dataclass(frozen=True, slots=True)
class SignalUrls:
    """Builds signal URLs. `address` is the API's base address; empty while no API is served."""

    address: str = ""
    project: str = ""
    signer: Signer | None = None
    # How long a signal URL is valid.
    lifetime_s: int = 30 * DAY_S
    # The base address of the API for guests that read metadata; empty: that for signals.
    metadata_address: str = ""

    def of(self, project: str) -> SignalUrls:
        """Return the same for the resources of a project."""
        return replace(self, project=project)

    def require(self, transport: str) -> None:
        """Raise Permanent if the transport is not available."""
        offered = _WITHOUT_API | {CFN} if self.address and self.signer else _WITHOUT_API
        if transport not in offered:
            raise errors.Permanent(
                f"signal_transport {transport} needs {_NEEDS.get(transport, 'a cloud')}, and there is none here. "
                f"Use one of: {', '.join(sorted(offered))}."
            )

    def signal_url(self, stack_name: str, stack_id: str, resource: str) -> str | None:
        """Return the URL for signals with an authentication token, or None while no API is served."""
        return self._url("stacks", stack_name, stack_id, "resources", resource, "signal") if self.address else None

    def resource_url(self, project: str, stack_name: str, stack_id: str, resource: str) -> str | None:
        """Return the URL for signals of a stack user, whose token is for `project`; None while no API is served."""
        return replace(self, project=project).signal_url(stack_name, stack_id, resource)

    def signed_url(self, method: str, stack_id: str, token: str, until: int) -> str | None:
        """Return the signed URL of one version of a resource, for one method, until a time.

        It is the same for each call, so that resources that read it see no change.
        """
        if not self.address or self.signer is None:
            return None
        url = self._url("signal", stack_id, token)
        signature = self.signer.sign(method, url.removeprefix(self.address.rstrip("/")), until)
        return f"{url}?expires={until}&signature={signature}"

    def metadata_url(self, stack_id: str, token: str) -> str | None:
        """Return the signed URL at which the metadata of one version of a resource is read; None while no API is served."""
        if not self.address or self.signer is None:
            return None
        base = self.metadata_address or self.address
        path = "/".join(["", "v1", *(quote(part, safe="") for part in (self.project, "metadata", stack_id, token))])
        return f"{base.rstrip('/')}{path}?expires={_FOREVER}&signature={self.signer.sign('GET', path, _FOREVER)}"

    def cfn_url(self) -> str | None:
        """Return the address of the CloudFormation API for guests, or None while no API is served."""
        base = self.metadata_address or self.address
        return f"{base.rstrip('/')}{CFN_PATH}" if base else None

    def _url(self, *path: str) -> str:
        return "/".join([self.address.rstrip("/"), "v1", *(quote(part, safe="") for part in (self.project, *path))])


def signature_in(url: str) -> str:
    return url.rpartition("&signature=")[2]


def token_in(reference: str) -> str:
    """Return the token in a signed URL; any other reference is returned unchanged."""
    path = reference.partition("?")[0].split("/")
    return path[-1] if reference.startswith(("http://", "https://")) and path[-3:-2] == ["signal"] else reference
