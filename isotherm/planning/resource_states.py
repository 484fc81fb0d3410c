"""Builds the `contract.ResourceState` of a stored version: the part of a row that a type may see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from isotherm.planning import documents
from isotherm.resources import contract
from isotherm.secrets import is_sealed


class StoredVersion(Protocol):
    """The columns of a version that a type may see; a row of the store or of the observer's tables."""

    @property
    def id(self) -> int: ...
    @property
    def stack_id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def token(self) -> str: ...
    @property
    def physical_id(self) -> str | None: ...
    @property
    def properties(self) -> str: ...
    @property
    def metadata(self) -> str: ...
    @property
    def data(self) -> str: ...
    @property
    def requires(self) -> str: ...
    @property
    def external(self) -> bool: ...
    @property
    def made_as(self) -> str | None: ...
    @property
    def made_in(self) -> str | None: ...


def of(
    version: StoredVersion, stack_name: str, *, properties: Mapping[str, Any] | None = None,
    update_policy: Mapping[str, Any] | None = None, exports: Sequence[str] = (), begun_at: float = 0.0,
) -> contract.ResourceState:
    """Return the state of a version; `properties` stand in for those last applied."""
    return contract.ResourceState(
        name=version.made_as or version.name, stack_name=version.made_in or stack_name, stack_id=version.stack_id,
        token=version.token,
        properties=documents.decode(version.properties, dict[str, Any]) if properties is None else properties,
        physical_id=version.physical_id, data=documents.decode(_readable(version.data), dict[str, Any]),
        metadata=documents.decode_any(_readable(version.metadata)), update_policy=update_policy, exports=exports,
        id=version.id, requires=version.requires, external=version.external,
        begun_at=begun_at,
    )


def _readable(text: str) -> str:
    """Return an empty document for one that is sealed with a lost key: only deletions read it, and need no more."""
    return "{}" if is_sealed(text) else text
