"""Picks the way to log in at the page, by the options."""

from __future__ import annotations

from dataclasses import dataclass

from isotherm import loading
from isotherm.api.browser.logins import CodeLogin, PageLogin, PasswordLogin
from isotherm.config import Settings
from isotherm.identity.page_sessions import SessionStore


@dataclass(frozen=True, slots=True)
class PageAccess:
    """The sessions of the page, and the way to log in."""

    sessions: SessionStore
    login: PageLogin


def of(settings: Settings, sessions: SessionStore) -> PageAccess:
    """Return the access of the options. Keystone's libraries are slow to import, so only that strategy imports them."""
    if settings.auth_strategy != "keystone":
        return PageAccess(sessions, CodeLogin(sessions))
    conf = loading.load("isotherm.config.files:opened")(settings.config_files)
    keystone = loading.load("isotherm.identity.keystone_login:KeystoneLogin").of(conf)
    return PageAccess(sessions, PasswordLogin(sessions, keystone))
