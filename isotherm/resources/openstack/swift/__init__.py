"""The types of Swift: containers, and signals that come as objects."""

from __future__ import annotations

#: Type -> address of its class, which is loaded when it is first needed (decision 33).
TYPES = {
    "OS::Heat::SwiftSignal": "isotherm.resources.openstack.swift.signal:SwiftSignal",
    "OS::Heat::SwiftSignalHandle": "isotherm.resources.openstack.swift.signal_handle:SwiftSignalHandle",
    "OS::Swift::Container": "isotherm.resources.openstack.swift.container:Container",
}
