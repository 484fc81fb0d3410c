"""The key file of a home folder: created at first use, readable by its owner only.

The file has one key per line, the newest first. To rotate, add a line at the top and keep the old ones. Keys of the
settings come before those of the file. Without the keys no sealed text can be read: back the file up, apart from the
database.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from isotherm import errors, secrets
from isotherm.config import Settings
from isotherm.store.admin import reseal
from isotherm.store.database import connect

if TYPE_CHECKING:
    from isotherm.secrets.ring import KeyRing

KEYS = "keys"
_HEAD = "# The newest key comes first. With this file, all secrets in the database can be read.\n"


def ring(folder: Path, settings: Settings) -> KeyRing:
    """Return the key ring of a folder. Raises UserError if a key is invalid or other users can read the file."""
    configured = secrets.configured(settings)
    path = folder / KEYS
    if not configured:
        make(path)
    return secrets.key_ring([*configured, *(read(path) if path.exists() else ())])


def check(folder: Path, settings: Settings, url: str) -> None:
    """Raise UserError if the keys are lost: the database has sealed texts, and there is no key.

    A new key would unseal none of them, and hide the loss until a secret is needed.
    """
    path = folder / KEYS
    if secrets.configured(settings) or path.exists():
        return
    engine = connect.connect(url, reading=True)
    try:
        with engine.begin() as connection:
            sealed = reseal.is_any(connection)
    finally:
        engine.dispose()
    # Another process may have created and used the first key meanwhile.
    if sealed and not path.exists():
        raise errors.UserError(
            f"The keys are lost: the database has sealed texts, {path} does not exist, and auth_encryption_key is not set.",
            kind="InvalidEncryptionKey",
            hint=f"Bring {path} (or the option) back from the backup. If it is lost for good, write a new key there: "
                 f"`(umask 077; openssl rand -hex 32 > {path})`. Stacks whose texts cannot be read can then be listed and "
                 "deleted.")


def read(path: Path) -> list[str]:
    """Return the keys of a file."""
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise errors.UserError(f"{path} can be read by others.", kind="InvalidEncryptionKey",
                               hint=f"chmod 600 {path}, and consider a new key on top of it.")
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    keys = [line for line in lines if line and not line.startswith("#")]
    if not keys:
        raise errors.UserError(f"{path} has no key.", kind="InvalidEncryptionKey",
                               hint="Bring it back from the backup; without it, no secret can be read.")
    return keys


def make(path: Path) -> None:
    """Create a file with a new key, unless there is one. Of several processes that try at once, one wins."""
    if path.exists():
        return
    draft = path.with_name(f"{path.name}.{os.getpid()}-{os.urandom(4).hex()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(f"{_HEAD}{os.urandom(32).hex()}\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
