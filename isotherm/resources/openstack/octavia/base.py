"""The parts that all types of Octavia share: states, the token in the tags, and load balancers that are being changed.

Octavia changes one thing of a load balancer at a time: meanwhile the load balancer and everything below it are
immutable, and each request is refused with 409. Such a request has not begun and is sent again. A load balancer in an
error state is immutable for good: requests below it fail at once, and nothing below it can be deleted but together with
it, see `delete_object`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.context.local_access import Reply
from isotherm.resources.openstack import faults, rest
from isotherm.resources.openstack.driver import Found, TableResource
from isotherm.resources.openstack.table import Column, States, Table, TokenPlace
from isotherm.resources.openstack.table_object import POLL, has_any_token
from isotherm.resources.schema import BOOLEAN, STRING, Schema

SERVICE = "load-balancer"
STATES = States(
    field="provisioning_status", ready=frozenset({"ACTIVE"}), failed=frozenset({"ERROR"}), gone=frozenset({"DELETED"}),
    waiting=frozenset({"PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE"}))
TOKEN = TokenPlace(field="tags", is_list=True, query="tags")
_IMMUTABLE = "immutable"


class Immutable(errors.NotBegun):
    """The load balancer is being changed, and the request was refused."""


class _Octavia(rest.Service):
    """The service, which refuses requests while the load balancer is being changed."""

    async def send(
        self, method: str, path: str, body: object = None, *, query: rest.Query = (),
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        try:
            return await rest.Service.send(self, method, path, body, query=query, headers=headers)
        except faults.InUse as error:
            # 409 is also the answer for an object that exists already: only the text tells them apart.
            if _IMMUTABLE in str(error):
                raise Immutable(str(error)) from error
            raise


def table(path: str, key: str, **more: Any) -> Table:
    """Return the table of a type of Octavia."""
    return Table(service=SERVICE, path=path, key=key, **{"states": STATES, "token": TOKEN, **more})


def admin_state_up(description: str) -> Column:
    return Column(schema=Schema(BOOLEAN, description, default=True, update_allowed=True))


def description_column(description: str) -> Column:
    return Column(schema=Schema(STRING, description, default="", update_allowed=True), cleared="")


def has_failed(load_balancer: Found) -> bool:
    """Return whether a load balancer has an error, so that nothing below it can be changed any more."""
    return load_balancer.get(STATES.field) in STATES.failed


def _cannot_change(load_balancer: Found) -> errors.Permanent:
    return errors.Permanent(f"the load balancer {load_balancer['id']} has the status ERROR, and cannot be changed")


class OctaviaResource(TableResource):
    """The base class of the types of Octavia."""

    traits = contract.Traits(poll=POLL, failed_is_observed=True)

    @property
    def service(self) -> rest.Service:
        return _Octavia(rest.require(self.context.cloud), SERVICE)

    async def load_balancer_id(self) -> str | None:
        """Return the id of the load balancer that the object belongs to; None if it is not known."""
        raise NotImplementedError

    async def owner_of(self, path: str, key: str) -> str | None:
        """Return the id of the load balancer that another object belongs to."""
        answer = await self.service.find(path)
        owners = [] if answer is None else answer[key].get("loadbalancers") or []
        return str(owners[0]["id"]) if owners else None

    async def handle_create(self) -> object:
        async with self._load_balancer_works():
            return await super().handle_create()

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        async with self._load_balancer_works():
            return await super().handle_update(before, changed)

    @asynccontextmanager
    async def _load_balancer_works(self) -> AsyncIterator[None]:
        """Raise Permanent in place of Immutable if the load balancer has an error: it stays immutable."""
        try:
            yield
        except Immutable as error:
            found = await self.load_balancer()
            if has_failed(found):
                raise _cannot_change(found) from error
            raise

    async def delete_object(self) -> None:
        """Ask for the delete. What is below a load balancer with an error is deleted together with it.

        Such a part counts as gone here, and the load balancer deletes it in the end. Where no stack has created the load
        balancer, that would not happen: then the delete fails.
        """
        try:
            await super().delete_object()
        except Immutable as error:
            found = await self.load_balancer()
            if has_failed(found):
                if not has_any_token(found.get(TOKEN.field) or ()):
                    raise _cannot_change(found) from error
                raise faults.NoSuchObject(str(error)) from error
            raise

    async def load_balancer(self) -> Found:
        """Return the load balancer that the object belongs to; empty if it is not known, or gone."""
        id_ = await self.load_balancer_id()
        answer = None if id_ is None else await self.service.find(f"/loadbalancers/{rest.part(id_)}")
        return {} if answer is None else dict(answer["loadbalancer"])

    def live(self, found: Found) -> Found:
        return super().live(self.without_token(found))
