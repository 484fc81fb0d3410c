"""Trusts: rights to act for a user on a stack, delegated with the user's token when a request creates or updates it.

A trust goes from the user to the service's own user, for the user's project, with the user's roles or those that
`trusts_delegated_roles` names. It cannot be redelegated. Keystone revokes it when the user loses a role; `sweep` deletes it
when the stack is deleted or another user has updated the stack. Its id is a secret and is stored sealed.

A row announces each trust before Keystone creates it, and the transaction that accepts the operation binds it to the stack.
A process that dies in between leaves the row. The trust of each row expires in a second of its own, centuries from now:
by this second `sweep` finds the trust of a row that has no id yet, and deletes no trust of another service.

The service's own user is that of the section [trustee], or of [keystone_authtoken] where that section is empty.
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
from isotherm.identity.credentials import CredentialStore, StackCredential

log = logging.getLogger(__name__)
T = TypeVar("T")

SECTIONS = ("trustee", "keystone_authtoken")
PATH = "/OS-TRUST/trusts"
_TIMEOUT_S = 20
_THREADS = 4
_SWEEP_S = 10.0
# The Retry-After for clients when Keystone does not answer.
_RETRY_S = 5.0
# The first second in which a trust expires; the last is 2^32 seconds later.
_EXPIRES = datetime.datetime(2200, 1, 1)
# A trust has its own scope; Keystone refuses another scope beside it.
_NO_SCOPE = dict.fromkeys(("project_id", "project_name", "project_domain_id", "project_domain_name", "domain_id",
                           "domain_name", "system_scope"))


class Trusts:
    """Creates, uses and deletes trusts."""

    def __init__(self, conf: cfg.ConfigOpts, settings: Settings, credential_store: CredentialStore) -> None:
        self._conf = conf
        self._section = service_section(conf)
        self._roles = settings.trusts_delegated_roles
        self._credentials = credential_store
        self._session = session.Session(timeout=_TIMEOUT_S, app_name="isotherm")
        self._service = self._plugin()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="trusts")

    @asynccontextmanager
    async def delegated(self, caller: Caller, project: str, stack_id: str | None = None) -> AsyncIterator[str]:
        """Create a trust and yield the id of its row, which the body binds to a stack. An unbound trust is deleted.

        Yields an empty id if the stack already has a trust of this caller, and if the stack is of another project: an
        admin has no roles there to delegate.
        """
        if caller.project != project or (stack_id and await self._holder(stack_id) == caller.user_id):
            yield ""
            return
        credential = await self._create_trust(caller, project)
        try:
            yield credential.id
        except BaseException:
            # Only the database knows whether the operation was accepted: its answer may have been lost.
            # If it does not answer now either, `sweep` decides.
            with suppress(errors.Unavailable):
                if not await self._credentials.is_bound(credential):
                    await self._delete_trust(credential)
            raise

    async def _create_trust(self, caller: Caller, project: str) -> StackCredential:
        """Create a trust. If Keystone's answer is lost the row stays, and `sweep` looks for the trust."""
        announced = await self._credentials.announce(project, caller.user_id)
        try:
            trust = await self._call(self._create, (caller, announced.id))
        except errors.UserError:
            await self._credentials.forget(announced)
            raise
        return await self._credentials.fill(project, announced, trust)

    async def authentication(self, stack_id: str) -> plugin.BaseAuthPlugin:
        """Return the plug-in that authenticates as the user of a stack."""
        return self._plugin((await self._credentials.needed(stack_id)).secret)

    async def run(self) -> None:
        """Delete useless trusts, until cancelled."""
        while True:
            try:
                await self.sweep()
            except Exception:
                log.exception("useless trusts were not deleted")
            await asyncio.sleep(_SWEEP_S)

    async def sweep(self) -> None:
        for credential in await self._credentials.useless():
            await self._delete_trust(credential)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _holder(self, stack_id: str) -> str | None:
        credential = await self._credentials.of_stack(stack_id)
        return credential.user_id if credential else None

    async def _delete_trust(self, credential: StackCredential) -> None:
        if await self._call(self._end, credential):
            await self._credentials.forget(credential)
        else:
            await self._credentials.postpone(credential)

    async def _call(self, call: Callable[[T], Any], argument: T) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._pool, call, argument)

    # On a thread: Keystone.

    def _create(self, asked: tuple[Caller, str]) -> str:
        """Create the trust of a row, and return the trust's id."""
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
            log.warning("Keystone created no trust", extra={"error": str(error)})
            raise errors.Unavailable("The identity service does not answer.", _RETRY_S) from error
        return str(answer.json()["trust"]["id"])

    def _end(self, credential: StackCredential) -> bool:
        """Delete the trust of a row. Return whether Keystone has none any more."""
        try:
            trust = credential.secret or self._found(credential)
        except exceptions.ClientException as error:
            log.info("Keystone did not say whether a trust exists", extra={"error": str(error)})
            return False
        return trust is None or self._delete(trust)

    def _found(self, credential: StackCredential) -> str | None:
        """Return the id of the trust that was created for a row without an id."""
        ours = {"trustee_user_id": self._session.get_user_id(self._service)}
        found = self._session.get(self._url(), params=ours, auth=self._service)
        trustor, mark = credential.user_id, _mark(credential.id)
        return next((str(one["id"]) for one in found.json()["trusts"]
                     if one["trustor_user_id"] == trustor and str(one["expires_at"]).startswith(mark)), None)

    def _delete(self, trust: str) -> bool:
        """Delete a trust, as its trustor or as the service's own user. Return whether it is gone."""
        for authentication in (self._plugin(trust), self._service):
            try:
                self._session.delete(f"{self._url()}/{trust}", auth=authentication)
            except exceptions.NotFound:
                return True
            except exceptions.ClientException as error:
                log.info("Keystone deleted no trust", extra={"error": str(error)})
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
    """Return the second in which the trust of a row expires: it identifies the trust."""
    return (_EXPIRES + datetime.timedelta(seconds=uuid.UUID(row).int >> 96)).strftime("%Y-%m-%dT%H:%M:%S")


def service_section(conf: cfg.ConfigOpts) -> str:
    """Return the section that names the service's own user, with its options registered."""
    for section in SECTIONS:
        loading.register_auth_conf_options(conf, section)
        if conf[section].auth_type:
            for option in loading.get_auth_plugin_conf_options(conf[section].auth_type):
                conf.register_opt(option, group=section)
            return section
    raise errors.UserError("neither [trustee] nor [keystone_authtoken] names the service's own user of Keystone")
