"""URLs of Swift that allow one method on one object until a time, without a token.

They are signed with a key of the account. An account without a key gets one. Two engines may find none at the same moment,
and the key that is written last is the one: so no URL is signed with a key that was just written. It is read again
after a pause, when no engine that had found none before still writes one.
"""

from __future__ import annotations

import hmac
import secrets
from urllib.parse import quote, urlsplit

from isotherm import errors
from isotherm.resources.openstack.swift.account import Account, Headers, object_path

# Swift accepts both keys, so that one can be changed while URLs that the other has signed are in use.
_KEYS = ("x-account-meta-temp-url-key", "x-account-meta-temp-url-key-2")
_SETTLED_S = 2.0
# The last second of a signed number of 32 bits, in 2038: services of the cloud take no later one.
ENDLESS = 2**31 - 1


async def key(account: Account) -> str:
    """Return the key of the account. Raises NotBegun if it had none: then it gets one, which is read by the next call."""
    found = _known(await account.headers())
    if found:
        return found
    await account.set_headers({_KEYS[0]: secrets.token_hex(32)})
    raise errors.NotBegun("waiting until the account has its key for temporary URLs", _SETTLED_S)


def _known(headers: Headers) -> str:
    return next((headers[name] for name in _KEYS if headers.get(name)), "")


async def url(account: Account, method: str, container: str, name: str, until: int = ENDLESS) -> str:
    """Return the URL that allows a method on an object. Raises NotBegun, as `key` does."""
    signing = await key(account)
    endpoint = await account.cloud.endpoint("object-store")
    return signed(signing, endpoint, method, container, name, until)


def signed(signing: str, endpoint: str, method: str, container: str, name: str, until: int) -> str:
    """Return the URL. Swift signs the path as it is before it is quoted."""
    path = f"{urlsplit(endpoint).path}/{container}/{name}"
    signature = hmac.digest(signing.encode(), f"{method}\n{until}\n{path}".encode(), "sha256").hex()
    return f"{endpoint}{object_path(container, name)}?temp_url_sig={signature}&temp_url_expires={quote(str(until))}"
