"""Gives resources access to a folder of this machine and to HTTP, where the settings allow it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from isotherm import errors, loading
from isotherm.config import Settings
from isotherm.resources.context import local_access

if TYPE_CHECKING:
    from isotherm.resources.http.client import Client

FOLDER = "local"
# The variables of the engine's environment that a process of a resource gets.
_VARIABLES = ("HOME", "LANG", "LC_ALL", "PATH", "TZ")


def is_allowed(settings: Settings) -> bool:
    """Return whether templates may use local resources and HTTP objects."""
    chosen = settings.enable_local_resources
    return chosen == "always" or (chosen == "standalone" and settings.auth_strategy == "standalone")


def reach_of(settings: Settings, home: Path) -> local_access.Reach:
    """Return the access that resources have with an engine in this folder."""
    return local_access.Reach(local(settings, home), http(settings))


def local(settings: Settings, home: Path) -> local_access.Local | None:
    """Return access to the base folder, which is created if missing; None where it is not allowed."""
    if not is_allowed(settings):
        return None
    base = Path(settings.local_base_folder).expanduser() if settings.local_base_folder else home / FOLDER
    try:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise errors.UserError(f"local_base_folder: {base}: {error.strerror or error}",
                               hint="Name a folder that the engine may write to.") from error
    return local_access.Local(base.resolve(), {name: os.environ[name] for name in _VARIABLES if name in os.environ})


def http(settings: Settings) -> local_access.Http | None:
    """Return access to HTTP, or None where it is not allowed."""
    return LazyHttp(settings) if is_allowed(settings) else None


class LazyHttp:
    """An HTTP client that is imported by the first call: the import is slow, and few stacks need it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client: Client | None = None

    async def call(self, call: local_access.Call) -> local_access.Reply:
        if self._client is None:
            self._client = loading.load("isotherm.resources.http.client:Client")(self._settings)
        return await self._client.call(call)
