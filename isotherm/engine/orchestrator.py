"""The Orchestrator: the engine's facade for the API, the command line and the page.

It has one service for each noun. Reads answer at once; operations are accepted, and workers carry them out.
"""

from __future__ import annotations

from isotherm.engine.operations.accept import Accepted, Request
from isotherm.engine.operations.drift import DriftService
from isotherm.engine.operations.history import HistoryService, PastInput
from isotherm.engine.operations.patch import Change, Patch
from isotherm.engine.operations.signals import SignalService
from isotherm.engine.operations.snapshots import SnapshotService
from isotherm.engine.operations.software import SoftwareService
from isotherm.engine.operations.stacks import StackService
from isotherm.engine.operations.validate import TemplateService
from isotherm.engine.overview.causes import CauseService
from isotherm.engine.overview.graphs import GraphService
from isotherm.engine.overview.live import LiveService
from isotherm.engine.overview.plans import PlanService
from isotherm.engine.overview.problems import ProblemService
from isotherm.engine.overview.summaries import SummaryService
from isotherm.engine.overview.timelines import TimelineService
from isotherm.engine.ownership.export import Abandoned, ExportService
from isotherm.engine.ownership.forget import ForgetService
from isotherm.engine.ownership.imports import ImportService
from isotherm.engine.ownership.moves import MoveService
from isotherm.engine.ownership.protection import ProtectionService
from isotherm.engine.preview.previews import PreviewService
from isotherm.engine.queries.events import EventService
from isotherm.engine.queries.inputs import InputService
from isotherm.engine.queries.outputs import OutputService
from isotherm.engine.queries.resources import ResourceService
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester

__all__ = ["Abandoned", "Accepted", "Change", "Orchestrator", "PastInput", "Patch", "Request", "Requester", "ServicePorts"]


class Orchestrator:
    """The services of the engine for one requester."""

    def __init__(self, ports: ServicePorts, requester: Requester = Requester()) -> None:  # noqa: B008 - frozen
        self.stacks = StackService(ports, requester)
        self.resources = ResourceService(ports, requester)
        self.events = EventService(ports, requester)
        self.inputs = InputService(ports, requester)
        self.outputs = OutputService(ports, requester)
        self.signals = SignalService(ports, requester)
        self.snapshots = SnapshotService(ports, requester)
        self.exports = ExportService(ports, requester)
        self.imports = ImportService(ports, requester)
        self.moves = MoveService(ports, requester)
        self.software = SoftwareService(ports, requester)
        self.drift = DriftService(ports, requester)
        self.history = HistoryService(ports, requester)
        self.protection = ProtectionService(ports, requester)
        self.forget = ForgetService(ports, requester)
        self.preview = PreviewService(ports, requester)
        self.templates = TemplateService(ports, requester)
        self.summaries = SummaryService(ports, requester)
        self.graphs = GraphService(ports, requester)
        self.causes = CauseService(ports, requester)
        self.timelines = TimelineService(ports, requester)
        self.plans = PlanService(ports, requester)
        self.problems = ProblemService(ports, requester)
        self.live = LiveService(ports, requester)
