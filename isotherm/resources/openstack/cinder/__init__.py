"""The types of Cinder: volumes, their attachments to servers, and volume types."""

from __future__ import annotations

#: Type -> address of its class, which is loaded when it is first needed (decision 33).
TYPES = {
    "OS::Cinder::Volume": "isotherm.resources.openstack.cinder.volume:Volume",
    "OS::Cinder::VolumeAttachment": "isotherm.resources.openstack.cinder.volume_attachment:VolumeAttachment",
    "OS::Cinder::VolumeType": "isotherm.resources.openstack.cinder.volume_type:VolumeType",
}
