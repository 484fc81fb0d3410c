"""A ring of keys: the newest seals, all of them open.

Each text names its key, so that old texts stay readable after a new key was put in front. A text is bound to the place
that it was sealed for (table, column, row, stack): moved to another, it does not open. AES-256-GCM; the nonce is random,
which is safe for some billions of texts under one key, and a reason to put a new key in front before that.

Names of things that might be guessed (the hash of a template with a short password in it) are made by `marks`: a hash
that nobody can compute without the key.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from binascii import Error as NotBase64
from binascii import a2b_base64, b2a_base64
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from isotherm import errors
from isotherm.secrets.sealed import SEALED

_NONCE = 12
# Random bytes are fetched in large pieces: asking for twelve costs as much as sealing.
_PIECE = _NONCE * 1024


class _Key:
    """What is derived from one key: a name to know it by, a cipher, and a key for marks."""

    def __init__(self, text: str) -> None:
        root = hmac.digest(b"isotherm", text.encode("utf-8", "surrogatepass"), "sha256")
        self.name = hmac.digest(root, b"name", "sha256")[:4].hex()
        self.cipher = AESGCM(hmac.digest(root, b"seal", "sha256"))
        self.mark = hmac.digest(root, b"mark", "sha256")
        # The first block of HKDF's second step.
        self.signing = hmac.digest(root, b"signals\x01", "sha256")


class KeyRing:
    """Keys, the newest first. One ring is used by one thread for writing and another for reading."""

    def __init__(self, keys: Sequence[str]) -> None:
        made = [_Key(text) for text in dict.fromkeys(keys)]
        if not made:
            raise errors.Bug("a key ring without a key")
        self._newest = made[0]
        self._keys = {key.name: key for key in reversed(made)}
        self._order = made
        self._head = f"{SEALED}{self._newest.name}$"

    def __repr__(self) -> str:
        return f"KeyRing({', '.join(key.name for key in self._order)})"

    def seal(self, text: str, place: str) -> str:
        nonce = _nonces.draw()
        sealed = self._newest.cipher.encrypt(nonce, text.encode("utf-8", "surrogatepass"), place.encode())
        return self._head + b2a_base64(nonce + sealed, newline=False).decode()

    def open(self, sealed: str, place: str) -> str:
        """Raises Unreadable: the key is not in the ring, or the text is not the one that was sealed for this place."""
        name, _, body = sealed[len(SEALED):].partition("$")
        key = self._keys.get(name)
        if key is None:
            raise errors.Unreadable(
                f"A text is sealed with the key {name[:16]}, which is not in auth_encryption_key_ring.")
        try:
            raw = a2b_base64(body)
            return key.cipher.decrypt(raw[:_NONCE], raw[_NONCE:], place.encode()).decode("utf-8", "surrogatepass")
        except (InvalidTag, NotBase64, ValueError) as error:
            raise errors.Unreadable(
                f"A sealed text is not authentic: it was changed, or it belongs somewhere else than {place}.") from error

    def signing_keys(self) -> list[bytes]:
        """Keys for signatures, the newest first: they tell nothing of those that seal."""
        return [key.signing for key in self._order]

    def marks(self, word: str, size: int = 16) -> list[str]:
        """A mark of the word under each key, the newest first: the same word has the same mark, and tells nothing."""
        data = word.encode("utf-8", "surrogatepass")
        return [hashlib.blake2b(data, digest_size=size, key=key.mark).hexdigest() for key in self._order]


class _Nonces:
    """Random nonces from the operating system. No two callers get the same one: `pop` of a list is atomic."""

    def __init__(self) -> None:
        self._drawn: list[bytes] = []
        os.register_at_fork(after_in_child=self._drawn.clear)

    def draw(self) -> bytes:
        while True:
            try:
                return self._drawn.pop()
            except IndexError:
                piece = os.urandom(_PIECE)
                self._drawn += [piece[start:start + _NONCE] for start in range(0, _PIECE, _NONCE)]


_nonces = _Nonces()
