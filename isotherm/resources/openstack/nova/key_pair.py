"""OS::Nova::KeyPair: a key pair whose public key servers get. Its physical id is its name."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.openstack import faults, finders, rest
from isotherm.resources.openstack.driver import Found, TableResource
from isotherm.resources.openstack.nova import base
from isotherm.resources.openstack.table import Column, allowed, custom, since
from isotherm.resources.openstack.table_object import POLL
from isotherm.resources.schema import BOOLEAN, CACHE_NONE, STRING, AttributeSchema, Schema
from isotherm.template.parameters import constraints

NAME, PUBLIC_KEY, SAVE, PRIVATE_KEY, KIND, USER, USER_ID = (
    "name", "public_key", "save_private_key", "private_key", "type", "user", "user_id")
# Nova tells times in seconds, rounded down; between two looks at two clocks some more time passes.
_ROUNDING_S = 3.0
_TRIES = 3


class KeyPair(TableResource):
    """A key pair of Nova.

    It has no field for a token, so a key of the same name is taken for the resource's own only if it was made after the
    creation began, or if it belongs to the version that the resource replaces. Other keys of the name are left alone.
    """

    TYPE = "OS::Nova::KeyPair"
    DESCRIPTION = "A key pair: servers get its public key, and those who have the private key can log in."
    support = since("2014.1")
    traits = contract.Traits(poll=POLL, failed_is_observed=True, knows_replaced=True)
    table = base.table(
        "/os-keypairs", "keypair", finder=finders.keypair, headers=finders.KEYPAIRS, is_unique=True, is_listed=False,
        waits_for_delete=False,
        columns={
            NAME: Column(schema=Schema(
                STRING, "The name of the key pair.", required=True,
                constraints=(constraints.Length(minimum=1, maximum=255),))),
            SAVE: Column(schema=Schema(
                BOOLEAN, "Whether the private key of a generated pair is kept, as the attribute private_key.",
                default=False), is_sent=False),
            PUBLIC_KEY: Column(schema=Schema(STRING, "The public key. Left out, Nova generates a pair.")),
            KIND: Column(schema=Schema(
                STRING, "The kind of the key: ssh, or x509 for Windows guests.", constraints=allowed("ssh", "x509"),
                support=since("8.0.0"))),
            USER: Column(
                schema=Schema(STRING, "The user who owns the key, by name or id. Only administrators may name others.",
                              constraints=custom("keystone.user"), support=since("9.0.0")),
                wire=USER_ID, finder=finders.user),
        },
        attributes={
            PUBLIC_KEY: AttributeSchema("The public key.", STRING),
            PRIVATE_KEY: AttributeSchema("The private key, if it is saved; otherwise empty.", STRING, CACHE_NONE),
        },
    )
    #: The properties that the service shows.
    shown: ClassVar[tuple[str, ...]] = (PUBLIC_KEY, KIND)

    def id_in(self, found: Found) -> str:
        return str(found[NAME])

    @property
    def path(self) -> str:
        return self._path_of(str(self.physical_id))

    def _path_of(self, name: str) -> str:
        """Return the path of a key; one of another user is found with the user's id."""
        return rest.path_with(f"{self.collection}/{rest.part(name)}",
                              {USER_ID: self.properties[USER]} if self.properties[USER] else {})

    # Create.

    async def handle_create(self) -> object:
        for _ in range(_TRIES):
            try:
                answer = await self.service.post(self.collection, self.create_request())
            except (faults.InUse, faults.ServiceError) as error:
                if not await self._settle_clash(error):
                    continue
            else:
                self._keep(answer[self.table.key])
            self.has_made(self.properties[NAME])
            return {"made": True}
        raise errors.Temporary(f"another key pair named {self.properties[NAME]} appears again and again")

    def _keep(self, made: Found) -> None:
        """Keep the private key of a generated pair, if the template wants that: Nova shows it only once."""
        if self.properties[SAVE] and made.get(PRIVATE_KEY):
            self.data[PRIVATE_KEY] = made[PRIVATE_KEY]

    async def _settle_clash(self, error: errors.Permanent) -> bool:
        """Return whether the key that is in the way is the wanted one; delete it if it is ours and is not.

        Raises the error for a key that is not ours.
        """
        found, is_own = await self._look()
        replaced = self.data.get(contract.REPLACED) == self.properties[NAME]
        if found is None and isinstance(error, faults.InUse):
            return False
        if found is None or not (is_own or replaced):
            raise error
        if self._serves(found) and (self.properties[PUBLIC_KEY] is not None or not replaced):
            return True
        await self._delete_key()
        return False

    def _serves(self, found: Found) -> bool:
        """Return whether a key is the wanted one. The private key of a generated pair cannot be had again."""
        wanted = self.properties[PUBLIC_KEY]
        if wanted is None:
            return not self.properties[SAVE]
        kind = self.properties[KIND]
        return _text(found.get(PUBLIC_KEY)) == _text(wanted) and (kind is None or found.get(KIND) == kind)

    async def _look(self) -> tuple[Found | None, bool]:
        """Return the key of this name, and whether it was made after the creation began."""
        try:
            reply = await self.service.send("GET", self._path_of(self.properties[NAME]))
        except faults.NoSuchObject:
            return None, False
        found: Found = rest.decoded(self.service.name, reply)[self.table.key]
        now_s = self.context.clock.now()
        # Where the service sends its time, the age is computed from the service's clock alone.
        sent = reply.headers.get("date")
        there_s = parsedate_to_datetime(sent).timestamp() if sent else now_s
        if not self.begun_at:
            return found, False
        made_s = datetime.fromisoformat(found["created_at"]).replace(tzinfo=UTC).timestamp()
        return found, there_s - made_s <= now_s - self.begun_at + _ROUNDING_S

    async def _delete_key(self) -> None:
        try:
            await self.service.delete(self._path_of(self.properties[NAME]))
        except faults.NoSuchObject:
            return

    async def find_by_token(self) -> contract.Search:
        """Find the key that a lost request has made. One whose private key was lost with the answer is deleted."""
        found, is_own = await self._look()
        if found is None or not is_own:
            return contract.Absent()
        if self._serves(found):
            return contract.Found(self.properties[NAME])
        if self.data.get(contract.REPLACED) != self.properties[NAME]:
            await self._delete_key()
        return contract.Absent()

    # Reality.

    def live(self, found: Found) -> Found:
        """Return the public key and its kind, where the template chooses them: a key that was exchanged is drift."""
        return {name: found[name] for name in self.shown if self.properties[name] is not None and name in found}

    async def attribute_in(self, name: str, found: Found) -> object:
        if name == PRIVATE_KEY:
            return self.data.get(PRIVATE_KEY, "")
        return await super().attribute_in(name, found)


def _text(value: Any) -> str:
    return str(value or "").strip()
