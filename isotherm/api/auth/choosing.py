"""Which way to find out who asks: the one that the options name."""

from __future__ import annotations

import importlib
from pathlib import Path

from isotherm.api.auth import standalone
from isotherm.api.auth.standalone import Authenticator
from isotherm.api.policy import Enforcer
from isotherm.config import Settings


def authenticator(settings: Settings, policy: Enforcer, folder: Path) -> Authenticator:
    """Keystone's libraries are slow to import, and most do not need them."""
    if settings.auth_strategy == "keystone":
        conf = importlib.import_module("isotherm.config.files").opened(settings.config_files)
        found: Authenticator = importlib.import_module("isotherm.api.auth.keystone").Keystone(conf, policy)
        return found
    return standalone.Standalone(standalone.token(folder / "token"))
