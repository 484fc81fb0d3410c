"""The properties and attributes of OS::Cinder::Volume."""

from __future__ import annotations

from typing import Any

import msgspec

from isotherm.resources.openstack import finders
from isotherm.resources.openstack.table import Column, at_least, custom, name_column, since
from isotherm.resources.schema import (
    BOOLEAN,
    CACHE_NONE,
    DEPRECATED,
    HIDDEN,
    INTEGER,
    LIST,
    MAP,
    STRING,
    AttributeSchema,
    Schema,
    Support,
)

SIZE, IMAGE, IMAGE_REF, SNAPSHOT, SOURCE, BACKUP = (
    "size", "image", "imageRef", "snapshot_id", "source_volid", "backup_id")
METADATA, READ_ONLY, VOLUME_TYPE, HINTS = "metadata", "read_only", "volume_type", "scheduler_hints"
NAME, DESCRIPTION = "name", "description"


def texts(metadata: Any) -> dict[str, str]:
    """Return metadata as Cinder takes it: each value is a text, JSON for what is none."""
    return {name: value if isinstance(value, str) else msgspec.json.encode(value).decode()
            for name, value in (metadata or {}).items()}


COLUMNS = {
    "availability_zone": Column(schema=Schema(STRING, "The availability zone that the volume is in.")),
    SIZE: Column(schema=Schema(
        INTEGER, "The size in GB. An update can make the volume larger, not smaller. A volume from a backup, a snapshot or "
        "another volume has the size of its source by default.", update_allowed=True, constraints=at_least(1)),
        is_sent=False),
    SNAPSHOT: Column(schema=Schema(
        STRING, "The id of the snapshot that the volume is made from.", constraints=custom("cinder.snapshot"))),
    BACKUP: Column(schema=Schema(
        STRING, "The id of the backup that is restored to the volume. An update restores another one to the same volume, "
        "which is detached meanwhile.", update_allowed=True, constraints=custom("cinder.backup"), observable=False),
        is_sent=False),
    NAME: name_column("The name of the volume."),
    DESCRIPTION: Column(schema=Schema(STRING, "The description of the volume.", update_allowed=True), cleared=""),
    IMAGE: Column(
        schema=Schema(STRING, "The image that the volume is made from, by name or id.", constraints=custom("glance.image")),
        wire="imageRef", finder=finders.image),
    IMAGE_REF: Column(schema=Schema(
        STRING, "The id of the image that the volume is made from.",
        support=Support(HIDDEN, "5.0.0", "Use property image.", Support(DEPRECATED, "2014.1"))), is_sent=False),
    METADATA: Column(schema=Schema(MAP, "Keys and values of the volume.", default={}, update_allowed=True, normalise=texts),
        to_wire=texts),
    VOLUME_TYPE: Column(schema=Schema(
        STRING, "The volume type, by name or id. An update changes the type of the volume, without a migration.",
        update_allowed=True, constraints=custom("cinder.vtype")), finder=finders.volume_type),
    SOURCE: Column(schema=Schema(
        STRING, "The id of the volume that this volume is a copy of.", constraints=custom("cinder.volume"))),
    HINTS: Column(schema=Schema(
        MAP, "Hints to the scheduler of Cinder, as keys and values.", support=since("2015.1")), is_sent=False),
    READ_ONLY: Column(schema=Schema(
        BOOLEAN, "Whether the volume can only be read. An update detaches the volume from its servers meanwhile.",
        update_allowed=True, support=since("5.0.0")), is_sent=False),
    "multiattach": Column(schema=Schema(
        BOOLEAN, "Whether several servers may have the volume at the same time. Cinder takes it from the volume type.",
        default=False, support=Support(HIDDEN, "13.0.0", "Use the volume type.", since("6.0.0"))), is_sent=False),
}

ATTRIBUTES = {
    "availability_zone": AttributeSchema("The availability zone that the volume is in.", STRING),
    "size": AttributeSchema("The size in GB.", STRING),
    "snapshot_id": AttributeSchema("The id of the snapshot that the volume was made from.", STRING),
    "display_name": AttributeSchema("The name of the volume.", STRING),
    "display_description": AttributeSchema("The description of the volume.", STRING),
    "volume_type": AttributeSchema("The name of the volume type.", STRING),
    "metadata": AttributeSchema("The keys and values of the volume, as JSON.", STRING),
    "metadata_values": AttributeSchema("The keys and values of the volume.", MAP),
    "source_volid": AttributeSchema("The id of the volume that this volume is a copy of.", STRING),
    "status": AttributeSchema("The status of the volume.", STRING, CACHE_NONE),
    "created_at": AttributeSchema("The time at which the volume was created.", STRING),
    "bootable": AttributeSchema("Whether servers can boot from the volume.", STRING),
    "encrypted": AttributeSchema("Whether the volume is encrypted.", STRING),
    "attachments": AttributeSchema(
        "The attachments of the volume, as JSON.", STRING, CACHE_NONE,
        Support(DEPRECATED, "9.0.0", "Use attribute attachments_list.", since("2015.1"))),
    "attachments_list": AttributeSchema("The attachments of the volume.", LIST, CACHE_NONE, since("9.0.0")),
    "multiattach": AttributeSchema(
        "Whether several servers may have the volume at the same time.", BOOLEAN, support=since("6.0.0")),
}
