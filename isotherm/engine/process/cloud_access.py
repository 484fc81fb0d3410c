"""Gives the requests and steps of a process access to clouds.

Without Keystone (`StandaloneClouds`), a request names an entry of clouds.yaml, and acceptance binds the stack to the
project that the entry stands for. Every process with that entry can then work on the stack. With Keystone
(`ServiceClouds`), a request acts with the caller's token, and a step with the stack's trust.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from isotherm import errors, loading
from isotherm.config import Settings
from isotherm.engine import cloud_binding
from isotherm.identity.requester import Requester
from isotherm.resources import contract
from isotherm.resources.catalog import heat_types
from isotherm.resources.openstack import rest
from isotherm.resources.openstack.port import clouds_yaml
from isotherm.resources.openstack.port.access import CloudAccess
from isotherm.resources.openstack.port.catalogue import Catalogue
from isotherm.resources.openstack.port.cloud import CloudPort, OpenStackCloud, StackCloud
from isotherm.resources.openstack.port.tokens import Token
from isotherm.store import stack_clouds
from isotherm.store.database.writer import Store
from isotherm.store.records import BoundCloud

if TYPE_CHECKING:
    # Of services with Keystone (decision 32).
    from isotherm.identity.credentials import CredentialStore
    from isotherm.identity.service_access import ServiceAccess
    from isotherm.identity.stack_users import KeystoneStackUsers

K = TypeVar("K")
V = TypeVar("V")
# Steps follow a change of clouds.yaml, or of a trust, after this time.
_KEEP_S = 5.0
_MOST = 10_000
# The pause of a step whose cloud cannot be used by this process: another one may.
_AGAIN_S = 30.0


class _Recent(dict[K, tuple[float, V]]):
    """Values that are kept for some seconds."""

    def recent(self, key: K, now: float) -> V | None:
        until, value = self.get(key, (0.0, None))
        return value if now < until else None

    def keep(self, key: K, value: V, now: float) -> V:
        if len(self) >= _MOST:
            self.clear()
        self[key] = now + _KEEP_S, value
        return value


@dataclass(frozen=True, slots=True)
class _CatalogueServices:
    """The types of the services in a catalogue."""

    catalogue: Catalogue
    access: CloudAccess

    def __contains__(self, service_type: object) -> bool:
        return self.catalogue.has(str(service_type), self.access)


class StandaloneClouds:
    """The clouds of clouds.yaml, and the stacks in them. There are no stack users: no domain is known for them."""

    stack_users: KeystoneStackUsers | None = None

    def __init__(self, store: Store, settings: Settings, clock: contract.Clock) -> None:
        self._store, self._clock = store, clock
        self.port = CloudPort(settings, clock)
        self.cloud: contract.Cloud = StackCloud(self.port, self, "")
        self.binding: cloud_binding.CloudBinding = self
        self._entries: _Recent[str, CloudAccess] = _Recent()
        self._of_stacks: _Recent[str, CloudAccess] = _Recent()

    def of_requester(self, requester: Requester) -> contract.Cloud | None:
        """Return the cloud that the request names. Raises UserError if its entry cannot be used."""
        return OpenStackCloud(self.port, self._entry(requester.cloud)) if requester.cloud else None

    # Of steps: the access of a stack.

    def key(self, stack_id: str) -> str:
        """Return the key of the stack's access; a key of its own until the access is known."""
        known = self._of_stacks.get(stack_id)
        return f"stack {stack_id}" if known is None else known[1].key

    async def access(self, stack_id: str) -> CloudAccess:
        """Return the access to the cloud that the stack is bound to, if the entry still stands for that cloud."""
        found = self._of_stacks.recent(stack_id, self._clock.now())
        if found is not None:
            return found
        bound = await self._bound(stack_id)
        if bound is None:
            raise errors.Permanent("The stack is in no cloud yet. Update it with --os-cloud NAME, where NAME is an entry "
                                   "of clouds.yaml.")
        try:
            access = self._entry(bound.name)
        except errors.UserError as error:
            raise errors.NotBegun(f"The stack is in cloud {bound.name}. {error}", _AGAIN_S) from error
        token = await self.port.token(access)
        if not bound.is_same(BoundCloud(bound.name, access.auth_url, token.project_id)):
            raise errors.NotBegun(f"The stack is in {_described(bound)}, and the entry of clouds.yaml stands for "
                                  f"project {token.project_id} at {access.auth_url} now.", _AGAIN_S)
        return self._of_stacks.keep(stack_id, access, self._clock.now())

    # Of acceptance: the binding.

    async def bound(self, requester: Requester, stack_id: str, types: Iterable[str]) -> BoundCloud | None:
        have = await self._bound(stack_id)
        if have is None:
            needed = requester.cloud and cloud_binding.may_need_cloud(types)
            return await self._resolved(requester.cloud) if needed else None
        if requester.cloud in ("", have.name):
            return None
        named = await self._resolved(requester.cloud)
        if not have.is_same(named):
            raise _other(have, named)
        # Another name of the same project: the stack keeps the newer one.
        return named

    async def services(self, requester: Requester, stack_id: str) -> Container[str]:
        have = await self._bound(stack_id)
        name = requester.cloud or (have.name if have else "")
        if not name:
            return heat_types.NoCloud()
        access = self._entry(name)
        return _CatalogueServices((await self._token(access)).catalogue, access)

    async def check(self, requester: Requester, stack_id: str) -> None:
        have = await self._bound(stack_id)
        if have is None:
            return
        if requester.cloud in ("", have.name):
            # The project is compared by each step: Keystone is not asked twice.
            if self._entry(have.name).auth_url != have.auth_url:
                raise _other(have, BoundCloud(have.name, self._entry(have.name).auth_url, "unknown"))
            return
        named = await self._resolved(requester.cloud)
        if not have.is_same(named):
            raise _other(have, named)

    async def _resolved(self, name: str) -> BoundCloud:
        """Return the project that an entry stands for. Raises UserError if Keystone refuses the entry."""
        access = self._entry(name)
        token = await self._token(access)
        if not token.project_id:
            raise errors.UserError(f"Cloud {name} of clouds.yaml names no project.", hint="Add project_name below auth.")
        return BoundCloud(name, access.auth_url, token.project_id)

    async def _token(self, access: CloudAccess) -> Token:
        """Return a token for a request. Raises UserError or Unavailable, as requests do."""
        try:
            return await self.port.token(access)
        except errors.Temporary as error:
            raise errors.Unavailable(str(error), error.retry_after_s) from error
        except errors.Permanent as error:
            raise errors.UserError(str(error), kind="Unauthorized") from error

    async def _bound(self, stack_id: str) -> BoundCloud | None:
        return await self._store.read(lambda connection: stack_clouds.of_stack(connection, stack_id))

    def _entry(self, name: str) -> CloudAccess:
        now = self._clock.now()
        return self._entries.recent(name, now) or self._entries.keep(name, clouds_yaml.read(name), now)


def _described(cloud: BoundCloud) -> str:
    return f"cloud {cloud.name} (project {cloud.project_id} at {cloud.auth_url})"


def _other(have: BoundCloud, named: BoundCloud) -> errors.Conflict:
    return errors.Conflict(
        f"The stack is in {_described(have)}, and the request names {_described(named)}. Its objects cannot be moved.",
        hint=f"Use --os-cloud {have.name}, or unset OS_CLOUD: the stack knows its cloud.")


class ServiceClouds:
    """The cloud of a service with Keystone."""

    def __init__(self, settings: Settings, clock: contract.Clock, credential_store: CredentialStore) -> None:
        self._settings, self._clock = settings, clock
        self._credentials = credential_store
        self.port = CloudPort(settings, clock)
        self.cloud: contract.Cloud = StackCloud(self.port, self, "")
        self.binding: cloud_binding.CloudBinding = cloud_binding.OneCloud()
        self._of_stacks: _Recent[str, CloudAccess] = _Recent()

    @cached_property
    def _service(self) -> ServiceAccess:
        # Keystone's libraries are slow to import.
        conf = loading.load("isotherm.config.files:opened")(self._settings.config_files)
        found: ServiceAccess = loading.load("isotherm.identity.service_access:of")(conf, self._settings)
        return found

    @cached_property
    def stack_users(self) -> KeystoneStackUsers | None:
        """The stack users; None where the options name no domain for them."""
        settings = self._settings
        if not (settings.stack_user_domain_id or settings.stack_user_domain_name):
            return None
        access = self._service.of_stack_domain(settings)
        cloud = OpenStackCloud(self.port, access)
        domain = loading.load("isotherm.identity.stack_domain:StackDomain")(
            rest.Service(cloud, "identity"), access.login.domain, settings.heat_stack_user_role)
        users, kept = loading.load("isotherm.identity.stack_users"), self._credentials
        guests = users.GuestView(settings.guest_auth_url or access.auth_url, settings.region_name_for_services)
        found: KeystoneStackUsers = users.KeystoneStackUsers(kept.store, self._clock, kept.new_id, domain, guests)
        return found

    def of_requester(self, requester: Requester) -> contract.Cloud | None:
        """Return the cloud with the caller's token; None for a request of the service itself."""
        return OpenStackCloud(self.port, self._service.with_token(requester.token)) if requester.token else None

    def key(self, stack_id: str) -> str:
        return f"stack {stack_id}"

    async def access(self, stack_id: str) -> CloudAccess:
        """Return the access with the trust of the stack, or of its root stack."""
        found = self._of_stacks.recent(stack_id, self._clock.now())
        if found is not None:
            return found
        trust = (await self._credentials.needed(stack_id)).secret
        return self._of_stacks.keep(stack_id, self._service.with_trust(trust), self._clock.now())
