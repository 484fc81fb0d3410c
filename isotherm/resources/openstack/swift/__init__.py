"""The types of Swift: containers, and signals that come as objects."""

from __future__ import annotations

from isotherm.resources.contract import Resource
from isotherm.resources.openstack.swift.container import Container
from isotherm.resources.openstack.swift.signal import SwiftSignal
from isotherm.resources.openstack.swift.signal_handle import SwiftSignalHandle

TYPES: tuple[type[Resource], ...] = (Container, SwiftSignal, SwiftSignalHandle)
