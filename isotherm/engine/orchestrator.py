"""The Orchestrator: the engine's facade for the API, the command line and the page.

It has one service for each noun. Reads answer at once; operations are accepted, and workers carry them out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isotherm import loading
from isotherm.engine.operations.accept import Accepted, Request
from isotherm.engine.operations.history import PastInput
from isotherm.engine.operations.patch import Change, Patch
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester

if TYPE_CHECKING:
    from isotherm.engine.operations.drift import DriftService
    from isotherm.engine.operations.history import HistoryService
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
    from isotherm.engine.ownership.export import ExportService
    from isotherm.engine.ownership.forget import ForgetService
    from isotherm.engine.ownership.imports import ImportService
    from isotherm.engine.ownership.moves import MoveService
    from isotherm.engine.ownership.protection import ProtectionService
    from isotherm.engine.preview.previews import PreviewService
    from isotherm.engine.queries.events import EventService
    from isotherm.engine.queries.inputs import InputService
    from isotherm.engine.queries.outputs import OutputService
    from isotherm.engine.queries.resources import ResourceService

__all__ = ["Accepted", "Change", "Orchestrator", "PastInput", "Patch", "Request", "Requester", "ServicePorts"]

#: Service -> address of its class, which is loaded when a process first uses the service (decision 33).
SERVICES = {
    "stacks": "isotherm.engine.operations.stacks:StackService",
    "resources": "isotherm.engine.queries.resources:ResourceService",
    "events": "isotherm.engine.queries.events:EventService",
    "inputs": "isotherm.engine.queries.inputs:InputService",
    "outputs": "isotherm.engine.queries.outputs:OutputService",
    "signals": "isotherm.engine.operations.signals:SignalService",
    "snapshots": "isotherm.engine.operations.snapshots:SnapshotService",
    "exports": "isotherm.engine.ownership.export:ExportService",
    "imports": "isotherm.engine.ownership.imports:ImportService",
    "moves": "isotherm.engine.ownership.moves:MoveService",
    "software": "isotherm.engine.operations.software:SoftwareService",
    "drift": "isotherm.engine.operations.drift:DriftService",
    "history": "isotherm.engine.operations.history:HistoryService",
    "protection": "isotherm.engine.ownership.protection:ProtectionService",
    "forget": "isotherm.engine.ownership.forget:ForgetService",
    "preview": "isotherm.engine.preview.previews:PreviewService",
    "templates": "isotherm.engine.operations.validate:TemplateService",
    "summaries": "isotherm.engine.overview.summaries:SummaryService",
    "graphs": "isotherm.engine.overview.graphs:GraphService",
    "causes": "isotherm.engine.overview.causes:CauseService",
    "timelines": "isotherm.engine.overview.timelines:TimelineService",
    "plans": "isotherm.engine.overview.plans:PlanService",
    "problems": "isotherm.engine.overview.problems:ProblemService",
    "live": "isotherm.engine.overview.live:LiveService",
}


class Orchestrator:
    """The services of the engine for one requester. A service is made when it is first used."""

    stacks: StackService
    resources: ResourceService
    events: EventService
    inputs: InputService
    outputs: OutputService
    signals: SignalService
    snapshots: SnapshotService
    exports: ExportService
    imports: ImportService
    moves: MoveService
    software: SoftwareService
    drift: DriftService
    history: HistoryService
    protection: ProtectionService
    forget: ForgetService
    preview: PreviewService
    templates: TemplateService
    summaries: SummaryService
    graphs: GraphService
    causes: CauseService
    timelines: TimelineService
    plans: PlanService
    problems: ProblemService
    live: LiveService

    def __init__(self, ports: ServicePorts, requester: Requester = Requester()) -> None:  # noqa: B008 - frozen
        self._ports, self._requester = ports, requester

    if not TYPE_CHECKING:  # a type checker would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            """Make a service; Python calls this for attributes that are not there yet."""
            if name not in SERVICES:
                raise AttributeError(name)
            service = loading.load(SERVICES[name])(self._ports, self._requester)
            setattr(self, name, service)
            return service
