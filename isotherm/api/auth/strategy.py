"""Picks the authenticator, and the source of stack credentials, by the options."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from isotherm import loading
from isotherm.api.auth import standalone
from isotherm.api.auth.standalone import Authenticator
from isotherm.api.policy.enforcer import Enforcer
from isotherm.config import Settings
from isotherm.identity.credentials import CredentialStore
from isotherm.identity.delegation import Delegation, NoDelegation
from isotherm.identity.stack_users import KeystoneStackUsers


def authenticator(settings: Settings, policy: Enforcer, folder: Path) -> Authenticator:
    """Return the authenticator. Keystone's libraries are slow to import, so only the keystone strategy imports them."""
    if settings.auth_strategy == "keystone":
        conf = loading.load("isotherm.config.files:opened")(settings.config_files)
        found: Authenticator = loading.load("isotherm.api.auth.keystone:Keystone")(conf, policy)
        return found
    return standalone.Standalone(standalone.token(folder / "token"))


@asynccontextmanager
async def delegation(settings: Settings, credential_store: CredentialStore) -> AsyncIterator[Delegation]:
    """Open the source of stack credentials. With Keystone, a background task deletes trusts that no stack needs."""
    if settings.auth_strategy != "keystone":
        yield NoDelegation()
        return
    conf = loading.load("isotherm.config.files:opened")(settings.config_files)
    trusts = loading.load("isotherm.identity.trusts:Trusts")(conf, settings, credential_store)
    task = asyncio.create_task(trusts.run())
    try:
        yield trusts
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        trusts.close()


@asynccontextmanager
async def sweeping(stack_users: KeystoneStackUsers | None) -> AsyncIterator[None]:
    """Delete the stack users that no resource needs, in the background."""
    if stack_users is None:
        yield
        return
    task = asyncio.create_task(stack_users.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
