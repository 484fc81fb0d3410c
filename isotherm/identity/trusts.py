"""Trusts: the right to act in a user's name on a stack, lent by the user's own token when it makes or changes the stack.

A trust goes from the user to the user of this service, for the user's project, with the user's roles or those that
`trusts_delegated_roles` names. It cannot be passed on. Keystone ends it when the user loses a role; we give it back when
the stack is gone or another user has taken it over. Its id is a secret: it is kept sealed.

A row announces each trust before Keystone is asked for it, and the transaction that accepts the operation binds it to the
stack. A process that dies in between leaves the row. The trust of each row expires in a second of its own, centuries from
now: by this the sweep finds the trust of a row that does not know its id, and touches no trust of another service.

The user of this service is the one of the section [trustee], or of [keystone_authtoken] where that section is empty.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import uuid
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from keystoneauth1 import exceptions, loading, plugin, session
from oslo_config import cfg

from isotherm import errors
from isotherm.config import Settings
from isotherm.identity.caller import Caller
from isotherm.identity.credentials import Custody, Lent

log = logging.getLogger(__name__)
T = TypeVar("T")

SECTIONS = ("trustee", "keystone_authtoken")
PATH = "/OS-TRUST/trusts"
_TIMEOUT_S = 20
_THREADS = 4
_SWEEP_S = 10.0
# When to ask again where Keystone does not answer.
_RETRY_S = 5.0
# The first second in which a trust expires; the last is 2^32 seconds later.
_EXPIRES = datetime.datetime(2200, 1, 1)
# With a trust the scope is that of the trust, and no other.
_NO_SCOPE = dict.fromkeys(("project_id", "project_name", "project_domain_id", "project_domain_name", "domain_id",
                           "domain_name", "system_scope"))


class Trusts:
    """Borrows, uses and gives back."""

    def __init__(self, conf: cfg.ConfigOpts, settings: Settings, custody: Custody) -> None:
        self._conf = conf
        self._section = _section(conf)
        self._roles = settings.trusts_delegated_roles
        self._custody = custody
        self._session = session.Session(timeout=_TIMEOUT_S, app_name="isotherm")
        self._service = self._plugin()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="trusts")

    @asynccontextmanager
    async def borrowed(self, caller: Caller, project: str, stack_id: str | None = None) -> AsyncIterator[str]:
        """Borrow a trust, and answer the id of its row, which is bound to a stack inside. Unbound, it is given back.

        A stack that the caller has already lent something for needs nothing more. One who acts on a stack of another
        project (an admin) has no rights there to lend: the stack keeps what it has.
        """
        if caller.project != project or (stack_id and await self._holder(stack_id) == caller.user_id):
            yield ""
            return
        lent = await self._borrow(caller, project)
        try:
            yield lent.id
        except BaseException:
            # Whether the operation was accepted is for the database to say: its answer may have been lost. If it does not
            # answer now either, the sweep will ask.
            with suppress(errors.Unavailable):
                if not await self._custody.is_bound(lent):
                    await self._give_back(lent)
            raise

    async def _borrow(self, caller: Caller, project: str) -> Lent:
        """Return a new trust. If it is not known whether Keystone made one, the row stays, and the sweep looks."""
        announced = await self._custody.announce(project, caller.user_id)
        try:
            trust = await self._call(self._create, (caller, announced.id))
        except errors.UserError:
            await self._custody.forget(announced)
            raise
        return await self._custody.fill(project, announced, trust)

    async def authentication(self, stack_id: str) -> plugin.BaseAuthPlugin:
        """What to authenticate with to act on a stack, in the name of its user."""
        return self._plugin((await self._custody.needed(stack_id)).secret)

    async def run(self) -> None:
        """Give back what is of no use any more, until cancelled."""
        while True:
            try:
                await self.sweep()
            except Exception:
                log.exception("what was lent could not be given back")
            await asyncio.sleep(_SWEEP_S)

    async def sweep(self) -> None:
        for lent in await self._custody.useless():
            await self._give_back(lent)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _holder(self, stack_id: str) -> str | None:
        lent = await self._custody.of_stack(stack_id)
        return lent.user_id if lent else None

    async def _give_back(self, lent: Lent) -> None:
        if await self._call(self._end, lent):
            await self._custody.forget(lent)
        else:
            await self._custody.postpone(lent)

    async def _call(self, call: Callable[[T], Any], argument: T) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._pool, call, argument)

    # On a thread: Keystone.

    def _create(self, asked: tuple[Caller, str]) -> str:
        """Return the id of a new trust, which the row of this id is for."""
        caller, row = asked
        missing = sorted(set(self._roles) - caller.roles)
        if missing:
            raise errors.UserError(f"Missing required credential: roles {missing}", kind="MissingCredentialError")
        wanted = {"trustor_user_id": caller.user_id, "project_id": caller.project, "impersonation": True,
                  "allow_redelegation": False, "expires_at": f"{_mark(row)}.000000Z",
                  "roles": [{"name": name} for name in self._roles or sorted(caller.roles)]}
        try:
            wanted["trustee_user_id"] = self._session.get_user_id(self._service)
            answer = self._session.post(self._url(), json={"trust": wanted}, headers={"X-Auth-Token": caller.token},
                                        authenticated=False)
        except (exceptions.Forbidden, exceptions.Unauthorized, exceptions.NotFound, exceptions.BadRequest) as error:
            raise errors.UserError(f"The service cannot be lent the right to act in your name: {error.message}",
                                   kind="Forbidden") from error
        except exceptions.ClientException as error:
            log.warning("no trust could be had: %s", error)
            raise errors.Unavailable("The identity service does not answer.", _RETRY_S) from error
        return str(answer.json()["trust"]["id"])

    def _end(self, lent: Lent) -> bool:
        """Whether Keystone has no trust of this row any more."""
        try:
            trust = lent.secret or self._found(lent)
        except exceptions.ClientException as error:
            log.info("whether a trust was made cannot be told: %s", error)
            return False
        return trust is None or self._delete(trust)

    def _found(self, lent: Lent) -> str | None:
        """Return the trust that was made for a row which does not know its id."""
        ours = {"trustee_user_id": self._session.get_user_id(self._service)}
        found = self._session.get(self._url(), params=ours, auth=self._service)
        return next((str(one["id"]) for one in found.json()["trusts"]
                     if one["trustor_user_id"] == lent.user_id and str(one["expires_at"]).startswith(_mark(lent.id))), None)

    def _delete(self, trust: str) -> bool:
        """Whether it is gone. The trust itself lets us act as the one who may end it; an administrator may, too."""
        for asker in (self._plugin(trust), self._service):
            try:
                self._session.delete(f"{self._url()}/{trust}", auth=asker)
            except exceptions.NotFound:
                return True
            except exceptions.ClientException as error:
                log.info("a trust could not be given back: %s", error)
            else:
                return True
        return False

    def _url(self) -> str:
        root = self._session.get_endpoint(self._service, interface=plugin.AUTH_INTERFACE, service_type="identity",
                                          version=(3, 0))
        return f"{str(root).rstrip('/')}{PATH}"

    def _plugin(self, trust: str | None = None) -> plugin.BaseAuthPlugin:
        other = {"trust_id": trust, **_NO_SCOPE} if trust else {}
        made = loading.load_auth_from_conf_options(self._conf, self._section, **other)
        if made is None:
            raise errors.Bug(f"[{self._section}] has lost its auth_type")
        return made


def _mark(row: str) -> str:
    """Return the second in which the trust of a row expires."""
    return (_EXPIRES + datetime.timedelta(seconds=uuid.UUID(row).int >> 96)).strftime("%Y-%m-%dT%H:%M:%S")


def _section(conf: cfg.ConfigOpts) -> str:
    for section in SECTIONS:
        loading.register_auth_conf_options(conf, section)
        if conf[section].auth_type:
            for option in loading.get_auth_plugin_conf_options(conf[section].auth_type):
                conf.register_opt(option, group=section)
            return section
    raise errors.UserError("neither [trustee] nor [keystone_authtoken] says as whom to ask Keystone")
