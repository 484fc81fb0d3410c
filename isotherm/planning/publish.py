"""Reads the published values of a resource: its reference and its attributes."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from isotherm import errors
from isotherm.planning import documents, masking
from isotherm.resources import contract, gate

log = logging.getLogger(__name__)


async def publish(resource: contract.Resource, exports: Iterable[str]) -> str:
    """Return the document that dependants and outputs read. Raises what `attribute` raises."""
    values = {name: await attribute(resource, name) for name in exports}
    reference = await gate.call(resource, resource.reference)
    return documents.encode(documents.Published(reference, values))


async def attribute(resource: contract.Resource, name: str) -> object:
    """Return the value of an attribute, or None if the service refuses it.

    Raises Temporary if the service may return it later. Unexpected errors of the type are raised too: a None in their place
    would go into the properties of other resources.
    """
    try:
        return await gate.call(resource, resource.attribute, name)
    except (errors.Permanent, errors.UserError):
        return None


async def shown(resource: contract.Resource, name: str) -> object:
    """Return the value of an attribute for a reader, or None where it cannot be read now."""
    try:
        return await attribute(resource, name)
    except errors.Temporary:
        return None
    except Exception as error:
        log.error("an attribute cannot be read", exc_info=masking.loggable(error),
                  extra={"type": resource.TYPE, "attribute": name})
        return None
