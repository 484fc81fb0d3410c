"""The types of Cinder: volumes, their attachments to servers, and volume types."""

from __future__ import annotations

from isotherm.resources.contract import Resource
from isotherm.resources.openstack.cinder.volume import Volume
from isotherm.resources.openstack.cinder.volume_attachment import VolumeAttachment
from isotherm.resources.openstack.cinder.volume_type import VolumeType

TYPES: tuple[type[Resource], ...] = (Volume, VolumeAttachment, VolumeType)
