"""All problems of a template that can be found at once, with their places, and the form that its parameters make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from isotherm import errors
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import desired, masking, request_limits
from isotherm.resources.registry import Registry
from isotherm.resources.validation import custom_constraints, validate
from isotherm.secrets import MASK
from isotherm.template import environment
from isotherm.template.model import model
from isotherm.template.parameters import parameters
from isotherm.template.parameters.parameters import ParameterSchema
from isotherm.template.text import document, locate

# Problems that are listed.
_MOST = 500


class ProblemService:
    """Judges templates without a stack."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._requester = requester

    async def find(
        self, template: str, files: Mapping[str, str], env: Mapping[str, Any], *, strict: bool = False
    ) -> dict[str, Any]:
        """Return all problems; `strict`: also those of parameter values. Nothing is asked of a cloud."""
        input_ = desired.StackInput(template, files, env)
        request_limits.check(input_, self._ports.settings)
        types = self._ports.types.limited(self._requester.may_use, self._requester.services)
        judge = _Judge(input_, types, self._requester.project, request_limits.bounds(self._ports.settings), strict=strict)

        def work() -> dict[str, Any]:
            request_limits.check_hidden(input_, self._ports.settings, self._ports.types)
            return judge.judge()

        return await self._ports.planning.compute(input_.size, work)


class _Judge:
    """Judges one template."""

    def __init__(
        self, input_: desired.StackInput, types: Registry, project: str, bounds: validate.Bounds, *, strict: bool
    ) -> None:
        self._input = input_
        self._types = types
        self._project = project
        self._bounds = bounds
        self._strict = strict
        self._document: document.Document | None = None
        self._found: dict[str, Any] = {"description": "", "parameters": [], "parameter_groups": [], "resources": 0}

    def judge(self) -> dict[str, Any]:
        try:
            self._judge()
            problems: tuple[errors.Problem, ...] = ()
        except errors.UserError as error:
            located = error if self._document is None else locate.problems(error, self._document)
            problems = masking.error(located, self._input, self._types).problems
        return {"problems": [_problem(one) for one in problems[:_MOST]], **self._found}

    def _judge(self) -> None:
        self._document = document.load(self._input.template)
        template = model.parse(self._document)
        loaded = environment.load(self._input.environment)
        self._describe(template, loaded)
        pseudo = parameters.Pseudo(stack_name="stack", project_id=self._project, dialect=template.dialect)
        values = parameters.bind(template.parameters, loaded, pseudo, require_all=False, check_values=False)
        bound = validate.bind(template, values, files=self._input.files)
        self._found["resources"] = len(bound.definitions)
        validate.validate(bound, loaded, self._types, strict=self._strict, custom=custom_constraints.LOCAL,
                          inside=self._strict, bounds=self._bounds)

    def _describe(self, template: model.Template, loaded: environment.Environment) -> None:
        names = list(template.parameters)
        self._found |= {
            "description": template.description or "",
            "parameters": [_parameter(schema, loaded) for schema in template.parameters.values()],
            "parameter_groups": list(_groups(template.parameter_groups, names)),
        }


def _problem(one: errors.Problem) -> dict[str, Any]:
    mark = one.mark
    return {"severity": "error", "message": str(one), "kind": one.kind, "path": one.path,
            "file": "" if mark is None else mark.source, "line": None if mark is None else mark.line,
            "column": None if mark is None else mark.column, "hint": one.hint}


def _parameter(schema: ParameterSchema, loaded: environment.Environment) -> dict[str, Any]:
    has_default = schema.has_default or schema.name in loaded.parameter_defaults
    default = loaded.parameter_defaults.get(schema.name, schema.default if schema.has_default else None)
    return {
        "name": schema.name, "type": schema.type.value, "label": schema.label or schema.name,
        "description": schema.description, "required": not has_default, "hidden": schema.hidden,
        "immutable": schema.immutable, "default": MASK if schema.hidden and default is not None else default,
        "constraints": [constraint.as_dict() for constraint in schema.constraints],
    }


def _groups(groups: Iterable[Any], names: list[str]) -> Iterable[dict[str, Any]]:
    """Yield the parameter groups, and a last one for parameters without a group."""
    grouped: set[str] = set()
    for group in groups:
        members = [str(name) for name in group.get("parameters", ())]
        grouped.update(members)
        yield {"label": group.get("label", ""), "description": group.get("description", ""), "parameters": members}
    if rest := [name for name in names if name not in grouped]:
        yield {"label": "", "description": "", "parameters": rest}
