"""A ring of keys: the newest seals, all of them open.

A sealed text names its key, so old texts stay readable after a new key is added. It is bound to its location (table,
column, row, stack): copied elsewhere, it does not open. The cipher is AES-256-GCM with random nonces, which is safe for
some billions of texts per key; add a new key before that.

`marks` are keyed hashes. They name values that could be guessed from a plain hash, such as a template with a password.
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
# Random bytes are drawn in large pieces: a system call per nonce costs as much as the encryption.
_PIECE = _NONCE * 1024


class _Key:
    """The keys derived from one key: its name, the cipher, the key of marks and the key of signatures."""

    def __init__(self, text: str) -> None:
        root = hmac.digest(b"isotherm", text.encode("utf-8", "surrogatepass"), "sha256")
        self.name = hmac.digest(root, b"name", "sha256")[:4].hex()
        self.cipher = AESGCM(hmac.digest(root, b"seal", "sha256"))
        self.mark = hmac.digest(root, b"mark", "sha256")
        # The first block of HKDF's second step.
        self.signing = hmac.digest(root, b"signals\x01", "sha256")


class KeyRing:
    """Keys, the newest first. The writer and the readers of the store share one ring."""

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
        """Decrypt a sealed text. Raise Unreadable if its key is missing, or it was not sealed for this place."""
        name, _, body = sealed[len(SEALED):].partition("$")
        key = self._keys.get(name)
        if key is None:
            raise errors.Unreadable(
                f"A value is encrypted with the key {name[:16]}, which is not in auth_encryption_key_ring.")
        try:
            raw = a2b_base64(body)
            return key.cipher.decrypt(raw[:_NONCE], raw[_NONCE:], place.encode()).decode("utf-8", "surrogatepass")
        except (InvalidTag, NotBase64, ValueError) as error:
            raise errors.Unreadable(
                f"An encrypted value is not authentic: it was changed, or it was not stored for {place}.") from error

    def signing_keys(self) -> list[bytes]:
        """Return the keys of signatures, the newest first. They do not reveal the keys that seal."""
        return [key.signing for key in self._order]

    def marks(self, word: str, size: int = 16) -> list[str]:
        """Return the mark of a word under each key, the newest first. Equal words have equal marks."""
        data = word.encode("utf-8", "surrogatepass")
        return [hashlib.blake2b(data, digest_size=size, key=key.mark).hexdigest() for key in self._order]


class _Nonces:
    """Random nonces from the operating system. `list.pop` is atomic, so no two threads get the same one."""

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
