"""Authentication by Keystone: its own middleware judges the token, and this module stands where a WSGI server would.

The middleware (keystonemiddleware, as in all of OpenStack) knows versions of the API, service tokens, access rules and
revocation. It blocks, so it runs on threads of its own: a Keystone that hangs must not hold up the store. It is shown
nothing of a request but the tokens, the method and the path, so a client cannot put words into its mouth. What it found
out is remembered for `token_cache_time` seconds, as the middleware itself would, but in memory that is bounded.
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
#: Where the middleware's own defaults would wait for ever, try for minutes, or be laxer than one would expect.
DEFAULTS = {"http_connect_timeout": 10, "http_request_max_retries": 1, "service_type": "orchestration",
            "service_token_roles_required": True}
_THREADS = 8
_MOST_CALLERS = 10_000
_LONGEST_TOKEN = 16_384

Environ = dict[str, Any]
Wsgi = Callable[[Environ, Callable[..., None]], Iterable[bytes]]


class Verdict(NamedTuple):
    """What the middleware said: a status, the caller if it is 200, and until when that holds (0: for this request)."""

    status: int
    caller: Caller | None = None
    until: float = 0.0


class Keystone:
    """Knows the users of a Keystone by their tokens."""

    def __init__(self, conf: cfg.ConfigOpts, policy: Enforcer) -> None:
        self._policy = policy
        self._middleware, options = _middleware(conf)
        self._remember = int(options["token_cache_time"])
        self._challenge = f'Keystone uri="{options["www_authenticate_uri"] or options["auth_url"]}"'
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="keystone")
        self._known: dict[bytes, Verdict] = {}
        self._asked: dict[bytes, asyncio.Future[Verdict]] = {}

    async def authenticate(self, request: Request) -> Caller:
        question = _question(request)
        verdict = await self._verdict(question) if _is_plausible(question.get("HTTP_X_AUTH_TOKEN", "")) else Verdict(401)
        if verdict.caller is not None:
            # Asked each time: the policy may have changed since the token was judged.
            return replace(verdict.caller, is_admin=self._policy.is_admin(verdict.caller))
        if verdict.status == 401:
            raise faults.Unauthorized(self._challenge)
        raise faults.Fault(503, "The identity service cannot be asked who you are.", headers={"Retry-After": "5"})

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _verdict(self, question: Environ) -> Verdict:
        """From memory, or by asking; requests that come with the same token at the same time ask once."""
        key = _key(question)
        known = self._known.get(key)
        if known is not None and time.time() < known.until:
            return known
        asked = self._asked.get(key)
        if asked is not None and (shared := await asyncio.shield(asked)).until:
            return shared
        return await self._ask(key, question)

    async def _ask(self, key: bytes, question: Environ) -> Verdict:
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

    def _keep(self, key: bytes, verdict: Verdict) -> None:
        if len(self._known) >= _MOST_CALLERS:
            del self._known[next(iter(self._known))]
        self._known[key] = verdict

    def _judge(self, question: Environ) -> Verdict:
        """On a thread: pass the request through the middleware, which writes what it learns into the environ."""
        environ, said = dict(question), [503]

        def start_response(status: str, *_: object) -> None:
            said[0] = int(status.partition(" ")[0])

        try:
            list(self._middleware(environ, start_response))
        except Exception:
            log.exception("Keystone cannot be asked")
            return Verdict(503)
        return self._accepted(environ) if said[0] == 200 else Verdict(said[0])

    def _accepted(self, environ: Environ) -> Verdict:
        told = environ["keystone.token_info"]["token"]
        caller = _caller(environ, told)
        # An application credential may be good for some paths only: then the verdict is for this request alone.
        if self._remember <= 0 or (told.get("application_credential") or {}).get("access_rules") is not None:
            return Verdict(200, caller)
        expires = datetime.fromisoformat(told["expires_at"]).timestamp()
        return Verdict(200, caller, min(time.time() + self._remember, expires))


def _middleware(conf: cfg.ConfigOpts) -> tuple[Wsgi, Mapping[str, Any]]:
    """The middleware with the options of its section, and those options. Its own memory is off: ours is in front of it."""
    for group, opts in auth_token.list_opts():
        conf.register_opts(opts, group=group)
    for name, value in DEFAULTS.items():
        conf.set_default(name, value, group=GROUP)
    remember = conf[GROUP].token_cache_time
    # It would warn of the memory that is switched off here.
    logging.getLogger(auth_token.__name__).addFilter(lambda record: "in-process token cache" not in str(record.msg))
    found: Wsgi = auth_token.AuthProtocol(_nothing_behind, {"oslo_config_config": conf, "token_cache_time": "-1"})
    if not conf[GROUP].auth_type:
        raise errors.UserError(f"[{GROUP}] auth_type is not set, so nobody could be asked who a caller is",
                               hint="password, with auth_url, username, password, project_name and their domains")
    return found, {"token_cache_time": remember, "www_authenticate_uri": conf[GROUP].www_authenticate_uri,
                   "auth_url": conf[GROUP].auth_url}


def _nothing_behind(_environ: Environ, start_response: Callable[..., None]) -> list[bytes]:
    start_response("200 OK", [])
    return []


def _question(request: Request) -> Environ:
    """All that the middleware gets to see."""
    found = {"REQUEST_METHOD": request.method, "PATH_INFO": request.url.path, "SCRIPT_NAME": "", "SERVER_NAME": "isotherm",
             "SERVER_PORT": "0", "wsgi.url_scheme": "http"}
    for header, name in (("x-auth-token", "HTTP_X_AUTH_TOKEN"), ("x-service-token", "HTTP_X_SERVICE_TOKEN")):
        if header in request.headers:
            found[name] = request.headers[header]
    return found


def _is_plausible(token: str) -> bool:
    """Whether this can be a token at all; what cannot does not trouble Keystone."""
    return 0 < len(token) <= _LONGEST_TOKEN and token.isascii() and token.isprintable()


def _key(question: Environ) -> bytes:
    """Tokens are not kept in memory for longer than a request: their hash does as well."""
    tokens = f"{question.get('HTTP_X_AUTH_TOKEN', '')}\n{question.get('HTTP_X_SERVICE_TOKEN', '')}"
    return hashlib.sha256(tokens.encode()).digest()


def _caller(environ: Environ, told: Mapping[str, Any]) -> Caller:
    """A token that is for no project gives a caller of none, who may use none."""
    project = told.get("project") or {}
    return Caller(
        project=project.get("id", ""), project_name=project.get("name", ""),
        user_id=told["user"]["id"], user_name=told["user"]["name"],
        roles=frozenset(role["name"] for role in told.get("roles", ())),
        is_admin_project=environ.get("HTTP_X_IS_ADMIN_PROJECT") == "True",
        token=environ["HTTP_X_AUTH_TOKEN"].strip(), services=_services(told.get("catalog") or ()),
    )


def _services(catalog: Any) -> frozenset[str]:
    """Return the types of services that resource types need and the catalog has, under any of their official names."""
    found = service_catalog.ServiceCatalogV3(catalog)
    return frozenset(one for one in heat_types.SERVICE_TYPES if any(found.get_endpoints_data(service_type=one).values()))
