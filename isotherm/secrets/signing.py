"""Signs URLs: a signed URL allows one method on one path until it expires, without a token.

The signature covers the method, the path byte by byte as it is sent, and the expiry. It is not valid for another method,
another resource, or another spelling of the path.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence

# Separates these signatures from any other use of the key.
_DOMAIN = b"isotherm-signal-1"


class Signer:
    """Signs with the newest key; accepts signatures of all keys."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = tuple(keys)

    def __repr__(self) -> str:
        return "Signer()"

    def sign(self, method: str, path: str, expires: int) -> str:
        return _signature(self._keys[0], method, path.encode(), expires)

    def is_good(self, method: str, path: bytes, expires: int, signature: str) -> bool:
        """Return whether one of the keys made this signature. Try all keys, so that timing reveals nothing."""
        given = signature.encode("utf-8", "replace")
        hits = [hmac.compare_digest(_signature(key, method, path, expires).encode(), given) for key in self._keys]
        return any(hits)


def _signature(key: bytes, method: str, path: bytes, expires: int) -> str:
    text = b"\n".join((_DOMAIN, method.encode("utf-8", "replace"), path, str(expires).encode()))
    return hmac.digest(key, text, "sha256").hex()
