"""Decrypts what Heat has encrypted with its `auth_encryption_key`: hidden parameters, properties and resource data.

Each value names its method. Two are known: Fernet, which Heat has used for ten years, and plain AES before that. A value
that cannot be decrypted prevents the import of its tree.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.decrepit.ciphers.modes import CFB
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES

from isotherm.importing import heat_rows

_KEY_LENGTH = 32
_IV_LENGTH = 16


class CannotDecrypt(Exception):
    """A value cannot be decrypted; the text says why."""


class Decryptor:
    """Decrypts with one key. Without a key, every encrypted value raises CannotDecrypt."""

    def __init__(self, key: str | None) -> None:
        self._key = key

    def environment(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return an environment with its parameters decrypted."""
        plain = {name: value for name, value in data.items() if name != "encrypted_param_names"}
        given = dict(plain.get("parameters") or {})
        for name in data.get("encrypted_param_names") or ():
            if isinstance(given.get(name), list | tuple):
                given[name] = self.text(*given[name])
        return {**plain, "parameters": given}

    def properties(self, resource: heat_rows.HeatResource) -> dict[str, Any]:
        """Return the properties that Heat last applied, decrypted."""
        if not resource.encrypted:
            return dict(resource.properties)
        return {name: json.loads(self.text(*value)) for name, value in resource.properties.items()}

    def data(self, resource: heat_rows.HeatResource) -> dict[str, str]:
        """Return the resource data, decrypted."""
        return {key: one.value if one.method is None else self.text(one.method, one.value)
                for key, one in resource.data.items()}

    def text(self, method: str, value: str) -> str:
        if not self._key:
            raise CannotDecrypt("it is encrypted, and no key was given (--key-file with Heat's auth_encryption_key)")
        try:
            if method == "cryptography_decrypt_v1":
                return self._fernet(self._key).decrypt(value.encode()).decode()
            if method == "heat_decrypt":
                return self._aes(self._key, base64.b64decode(value)).decode()
        except (InvalidToken, ValueError, binascii.Error):
            raise CannotDecrypt("it is encrypted with another key than the one that was given") from None
        raise CannotDecrypt(f"it is encrypted by a method that is not known: {method}")

    @staticmethod
    def _fernet(key: str) -> Fernet:
        # A short key is taken twice, a long one is cut.
        long = key if len(key) >= _KEY_LENGTH else key * 2
        return Fernet(base64.urlsafe_b64encode(long[:_KEY_LENGTH].encode()))

    @staticmethod
    def _aes(key: str, value: bytes) -> bytes:
        cipher = Cipher(AES(key[:_KEY_LENGTH].encode()), CFB(value[:_IV_LENGTH])).decryptor()
        return cipher.update(value[_IV_LENGTH:]) + cipher.finalize()
