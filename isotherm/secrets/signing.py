"""Signed addresses: whoever has one may do one thing at one place, until a moment, and needs nothing else for it.

What is signed is the method, the path as it is sent, byte by byte, and the moment. So a signature is good for no other
method, no other resource, and no other way to write the same path.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence

# In a signature, so that it could never be taken for one that was made for something else.
_DOMAIN = b"isotherm-signal-1"


class Signer:
    """Signs with the newest key; knows what was signed with the older ones."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = tuple(keys)

    def __repr__(self) -> str:
        return "Signer()"

    def sign(self, method: str, path: str, expires: int) -> str:
        return _signature(self._keys[0], method, path.encode(), expires)

    def is_good(self, method: str, path: bytes, expires: int, signature: str) -> bool:
        """Whether one of the keys has signed this. All are tried, so that the time tells nothing."""
        given = signature.encode("utf-8", "replace")
        hits = [hmac.compare_digest(_signature(key, method, path, expires).encode(), given) for key in self._keys]
        return any(hits)


def _signature(key: bytes, method: str, path: bytes, expires: int) -> str:
    text = b"\n".join((_DOMAIN, method.encode("utf-8", "replace"), path, str(expires).encode()))
    return hmac.digest(key, text, "sha256").hex()
