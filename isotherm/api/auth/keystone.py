"""Authentication with Keystone tokens, validated by keystonemiddleware as in all of OpenStack.

This module takes the place of the WSGI server that the middleware expects. The middleware blocks, so it runs on its own
threads: a Keystone that hangs must not delay the store. It sees only the tokens, the method and the path of a request, so a
client cannot forge the headers it sets. Verdicts are cached for `token_cache_time` seconds, in a bounded cache.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from keystoneauth1.access import service_catalog
from keystonemiddleware import auth_token
from oslo_config import cfg
from starlette.requests import Request

from isotherm import errors
from isotherm.api.http import faults
from isotherm.api.policy.enforcer import Enforcer
from isotherm.identity.caller import Caller
from isotherm.resources.catalog import heat_types

log = logging.getLogger(__name__)

GROUP = "keystone_authtoken"
#: Replace defaults of the middleware that wait for ever, retry for minutes, or accept any service token.
DEFAULTS = {"http_connect_timeout": 10, "http_request_max_retries": 1, "service_type": "orchestration",
            "service_token_roles_required": True}
_THREADS = 8
_MOST_CALLERS = 10_000
_LONGEST_TOKEN = 16_384

Environ = dict[str, Any]
Wsgi = Callable[[Environ, Callable[..., None]], Iterable[bytes]]


class TokenVerdict(NamedTuple):
    """The middleware's decision: a status, the caller if it is 200, and the end of its validity (0: this request only)."""

    status: int
    caller: Caller | None = None
    until: float = 0.0


class Keystone:
    """Authenticates callers by their Keystone tokens."""

    def __init__(self, conf: cfg.ConfigOpts, policy: Enforcer) -> None:
        self._policy = policy
        self._middleware, options = _middleware(conf)
        self._remember = int(options["token_cache_time"])
        self._challenge = f'Keystone uri="{options["www_authenticate_uri"] or options["auth_url"]}"'
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="keystone")
        self._known: dict[bytes, TokenVerdict] = {}
        self._asked: dict[bytes, asyncio.Future[TokenVerdict]] = {}

    async def authenticate(self, request: Request) -> Caller:
        question = _question(request)
        plausible = _is_plausible(question.get("HTTP_X_AUTH_TOKEN", ""))
        verdict = await self._verdict(question) if plausible else TokenVerdict(401)
        if verdict.caller is not None:
            # Not cached: the policy may have changed since the token was validated.
            return replace(verdict.caller, is_admin=self._policy.is_admin(verdict.caller))
        if verdict.status == 401:
            raise faults.Unauthorized(self._challenge)
        raise faults.Fault(503, "The identity service does not answer.", headers={"Retry-After": "5"})

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _verdict(self, question: Environ) -> TokenVerdict:
        """Return the cached verdict, or validate the token. Concurrent requests with one token validate it once."""
        key = _key(question)
        known = self._known.get(key)
        if known is not None and time.time() < known.until:
            return known
        asked = self._asked.get(key)
        if asked is not None and (shared := await asyncio.shield(asked)).until:
            return shared
        return await self._ask(key, question)

    async def _ask(self, key: bytes, question: Environ) -> TokenVerdict:
        asked = asyncio.get_running_loop().run_in_executor(self._pool, self._judge, question)
        self._asked[key] = asked
        try:
            verdict = await asyncio.shield(asked)
        finally:
            if self._asked.get(key) is asked:
                del self._asked[key]
        self._known.pop(key, None)
        if verdict.until:
            self._keep(key, verdict)
        return verdict

    def _keep(self, key: bytes, verdict: TokenVerdict) -> None:
        if len(self._known) >= _MOST_CALLERS:
            del self._known[next(iter(self._known))]
        self._known[key] = verdict

    def _judge(self, question: Environ) -> TokenVerdict:
        """Run the middleware, on a thread. It writes the identity of the caller into the environ."""
        environ, said = dict(question), [503]

        def start_response(status: str, *_: object) -> None:
            said[0] = int(status.partition(" ")[0])

        try:
            list(self._middleware(environ, start_response))
        except Exception:
            log.exception("Keystone cannot validate a token")
            return TokenVerdict(503)
        return self._accepted(environ) if said[0] == 200 else TokenVerdict(said[0])

    def _accepted(self, environ: Environ) -> TokenVerdict:
        token = environ["keystone.token_info"]["token"]
        caller = _caller(environ, token)
        # Access rules of an application credential allow some paths only: the verdict holds for this request.
        if self._remember <= 0 or (token.get("application_credential") or {}).get("access_rules") is not None:
            return TokenVerdict(200, caller)
        expires = datetime.fromisoformat(token["expires_at"]).timestamp()
        return TokenVerdict(200, caller, min(time.time() + self._remember, expires))


def _middleware(conf: cfg.ConfigOpts) -> tuple[Wsgi, Mapping[str, Any]]:
    """Build the middleware from its section of the configuration; return it and its options. Its own cache is off."""
    for group, opts in auth_token.list_opts():
        conf.register_opts(opts, group=group)
    for name, value in DEFAULTS.items():
        conf.set_default(name, value, group=GROUP)
    remember = conf[GROUP].token_cache_time
    # The middleware would warn that its cache is off.
    logging.getLogger(auth_token.__name__).addFilter(lambda record: "in-process token cache" not in str(record.msg))
    found: Wsgi = auth_token.AuthProtocol(_nothing_behind, {"oslo_config_config": conf, "token_cache_time": "-1"})
    if not conf[GROUP].auth_type:
        raise errors.UserError(f"[{GROUP}] auth_type is not set, so tokens cannot be validated",
                               hint="set it to password, with auth_url, username, password, project_name and their domains")
    return found, {"token_cache_time": remember, "www_authenticate_uri": conf[GROUP].www_authenticate_uri,
                   "auth_url": conf[GROUP].auth_url}


def _nothing_behind(_environ: Environ, start_response: Callable[..., None]) -> list[bytes]:
    start_response("200 OK", [])
    return []


def _question(request: Request) -> Environ:
    """Build the environ that the middleware gets."""
    found = {"REQUEST_METHOD": request.method, "PATH_INFO": request.url.path, "SCRIPT_NAME": "", "SERVER_NAME": "isotherm",
             "SERVER_PORT": "0", "wsgi.url_scheme": "http"}
    for header, name in (("x-auth-token", "HTTP_X_AUTH_TOKEN"), ("x-service-token", "HTTP_X_SERVICE_TOKEN")):
        if header in request.headers:
            found[name] = request.headers[header]
    return found


def _is_plausible(token: str) -> bool:
    """Return whether this text can be a token. Other texts are refused without asking Keystone."""
    return 0 < len(token) <= _LONGEST_TOKEN and token.isascii() and token.isprintable()


def _key(question: Environ) -> bytes:
    """Return the cache key: a hash, so that no token stays in memory after its request."""
    tokens = f"{question.get('HTTP_X_AUTH_TOKEN', '')}\n{question.get('HTTP_X_SERVICE_TOKEN', '')}"
    return hashlib.sha256(tokens.encode()).digest()


def _caller(environ: Environ, token: Mapping[str, Any]) -> Caller:
    """Return the caller of a token. An unscoped token gives a caller without a project, who may use none."""
    project = token.get("project") or {}
    return Caller(
        project=project.get("id", ""), project_name=project.get("name", ""),
        user_id=token["user"]["id"], user_name=token["user"]["name"],
        roles=frozenset(role["name"] for role in token.get("roles", ())),
        is_admin_project=environ.get("HTTP_X_IS_ADMIN_PROJECT") == "True",
        token=environ["HTTP_X_AUTH_TOKEN"].strip(), services=_services(token.get("catalog") or ()),
    )


def _services(catalog: Any) -> frozenset[str]:
    """Return the service types that resource types need and the catalog has, under any of their official names."""
    found = service_catalog.ServiceCatalogV3(catalog)
    return frozenset(one for one in heat_types.SERVICE_TYPES if any(found.get_endpoints_data(service_type=one).values()))
