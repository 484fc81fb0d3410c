"""The Orchestrator: the engine's facade for the API, the command line and the page.

It has one service for each noun. Reads answer at once; operations are accepted, and workers carry them out.
"""

from __future__ import annotations

from isotherm.engine.operations.accept import Accepted, Request
from isotherm.engine.operations.drift import Drift
from isotherm.engine.operations.export import Abandoned, Exports
from isotherm.engine.operations.patch import Patch
from isotherm.engine.operations.signals import Signals
from isotherm.engine.operations.snapshots import Snapshots
from isotherm.engine.operations.software import Software
from isotherm.engine.operations.stacks import Stacks
from isotherm.engine.operations.validate import Templates
from isotherm.engine.preview.previews import Previews
from isotherm.engine.queries.events import Events
from isotherm.engine.queries.inputs import Inputs
from isotherm.engine.queries.outputs import Outputs
from isotherm.engine.queries.resources import Resources
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester

__all__ = ["Abandoned", "Accepted", "Orchestrator", "Patch", "Request", "Requester", "ServicePorts"]


class Orchestrator:
    """The services of the engine for one requester."""

    def __init__(self, ports: ServicePorts, requester: Requester = Requester()) -> None:  # noqa: B008 - frozen
        self.stacks = Stacks(ports, requester)
        self.resources = Resources(ports, requester)
        self.events = Events(ports, requester)
        self.inputs = Inputs(ports, requester)
        self.outputs = Outputs(ports, requester)
        self.signals = Signals(ports, requester)
        self.snapshots = Snapshots(ports, requester)
        self.exports = Exports(ports, requester)
        self.software = Software(ports, requester)
        self.drift = Drift(ports, requester)
        self.preview = Previews(ports, requester)
        self.templates = Templates(ports, requester)
