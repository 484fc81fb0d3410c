"""What of this machine and of its network is lent to resources, by the settings: the adapters of `resources.reach`."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from isotherm import errors
from isotherm.config import Settings
from isotherm.resources.context import local_access

if TYPE_CHECKING:
    from isotherm.resources.http.client import Client

FOLDER = "local"
# What a process gets of the engine's own environment: nothing else is anybody's business.
_VARIABLES = ("HOME", "LANG", "LC_ALL", "PATH", "TZ")


def is_allowed(settings: Settings) -> bool:
    """Whether templates may have resources that reach out of the engine."""
    chosen = settings.enable_local_resources
    return chosen == "always" or (chosen == "standalone" and settings.auth_strategy == "standalone")


def reach_of(settings: Settings, home: Path) -> local_access.Reach:
    """All that is lent by an engine in this folder."""
    return local_access.Reach(local(settings, home), http(settings))


def local(settings: Settings, home: Path) -> local_access.Local | None:
    """The base folder, made if it is not there; None where it is not allowed."""
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
    return Calls(settings) if is_allowed(settings) else None


class Calls:
    """Calls by HTTP. What speaks HTTP is slow to import, and few stacks need it: it is loaded by the first call."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client: Client | None = None

    async def call(self, call: local_access.Call) -> local_access.Reply:
        if self._client is None:
            self._client = importlib.import_module("isotherm.resources.http.client").Client(self._settings)
        return await self._client.call(call)
