"""Logs a user in at Keystone by name and password, for the page. Blocks, so it runs on its own threads."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from keystoneauth1 import exceptions, loading, session
from keystoneauth1.identity import v3
from oslo_config import cfg

from isotherm import errors
from isotherm.identity.page_sessions import GivenToken, LoginForm

GROUP = "keystone_authtoken"
_TIMEOUT_S = 20
_THREADS = 4
_RETRY_S = 5.0


class KeystoneLogin:
    """Asks Keystone for tokens."""

    def __init__(self, conf: cfg.ConfigOpts, url: str) -> None:
        root = url.rstrip("/")
        self._url = root if root.endswith("/v3") else f"{root}/v3"
        options = conf[GROUP]
        verify: bool | str = False if options.insecure else (options.cafile or True)
        cert = (options.certfile, options.keyfile) if options.certfile and options.keyfile else None
        self._session = session.Session(timeout=_TIMEOUT_S, verify=verify, cert=cert, app_name="isotherm")
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="login")

    @classmethod
    def of(cls, conf: cfg.ConfigOpts) -> KeystoneLogin:
        """Build the login for the Keystone of the configuration."""
        loading.register_auth_conf_options(conf, GROUP)
        if conf[GROUP].auth_type:
            for option in loading.get_auth_plugin_conf_options(conf[GROUP].auth_type):
                conf.register_opt(option, group=GROUP)
        loading.register_session_conf_options(conf, GROUP)
        return cls(conf, str(conf[GROUP].auth_url or ""))

    async def token(self, form: LoginForm) -> GivenToken | None:
        """Return a token for the project of the form; None if Keystone refuses it."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._ask, form)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _ask(self, form: LoginForm) -> GivenToken | None:
        asked = v3.Password(
            self._url, username=form.user, password=form.password, user_domain_name=form.user_domain,
            project_name=form.project, project_domain_name=form.project_domain, include_catalog=False)
        try:
            found = asked.get_access(self._session)
        except (exceptions.Unauthorized, exceptions.Forbidden, exceptions.NotFound, exceptions.BadRequest):
            return None
        except exceptions.ClientException as error:
            raise errors.Unavailable("The identity service does not answer.", _RETRY_S) from error
        if found.project_id is None or found.auth_token is None or found.expires is None:
            return None
        return GivenToken(found.project_id, found.auth_token, found.expires.timestamp())
