"""The body that create, update, preview and validate share: from what clients send to what the engine is asked for.

Fields are read when they are asked for, in Heat's order, so that of several mistakes the same one is told first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from isotherm import errors
from isotherm.api.http import faults, queries
from isotherm.api.request import remote_files
from isotherm.config import Settings
from isotherm.engine.orchestrator import Patch, Request
from isotherm.fetch import Fetcher
from isotherm.template import environment, merge
from isotherm.template.model import model
from isotherm.template.parameters.parameters import ParameterSchema
from isotherm.template.text import document

MINUTE = 60
_UNREADABLE, _NO_VERSION = "Error parsing template: ", "Template format version not found."
_DESCRIBING = frozenset({"stack_name", "template", "template_url", "parameters", "environment", "files",
                         "environment_files", "files_container"})


class Instantiation:
    """The body of a request that describes a stack."""

    def __init__(self, data: Mapping[str, Any], settings: Settings) -> None:
        self._data = data
        self._settings = settings

    # How it is run.

    def check_arguments(self, *, update: bool = False) -> None:
        """What Heat looks at before all else."""
        self.timeout_s()
        self.tags()
        if "converge" in self._data:
            if not update:
                raise faults.bad_request("converge flag only supported in stack update (or update preview) request.")
            queries.boolean("converge", self._data["converge"], "ValueError")

    def timeout_s(self) -> float | None:
        """None if nothing is said of it; Heat takes zero as that too."""
        given = self._data.get("timeout_mins")
        return None if given is None else float(queries.non_negative("timeout_mins", given) * MINUTE) or None

    def tags(self) -> list[str] | None:
        given = self._data.get("tags")
        return None if given is None else queries.tags(given)

    def disable_rollback(self) -> bool | None:
        given = self._data.get("disable_rollback")
        return None if given is None else queries.boolean("disable_rollback", given, "ValueError")

    def converge(self) -> bool:
        """Whether reality is looked at before anything is decided."""
        return queries.boolean("converge", self._data.get("converge", False), "ValueError")

    def clear_parameters(self) -> list[str]:
        given = self._data.get("clear_parameters") or []
        if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
            raise faults.bad_request()
        return given

    # What it is.

    def stack_name(self) -> str:
        if "stack_name" not in self._data:
            raise faults.bad_request("No stack name specified")
        name = self._data["stack_name"]
        if not isinstance(name, str):
            raise faults.bad_request()
        return name

    def export_document(self) -> dict[str, Any] | None:
        """The papers of a stack to take over: of these only the template, the parameters and the resources count."""
        if "adopt_stack_data" not in self._data:
            return None
        given = self._data["adopt_stack_data"]
        if not isinstance(given, str):
            raise faults.bad_request()
        try:
            papers = document.load(given).data
        except errors.UserError as error:
            raise faults.bad_request(f"Invalid adopt data: {error}") from error
        if not isinstance(papers, dict) or "template" not in papers:
            raise faults.bad_request("Invalid adopt data: 'template'")
        surroundings = papers.get("environment")
        given_before = surroundings.get("parameters") if isinstance(surroundings, dict) else None
        return {"template": papers["template"], "resources": papers.get("resources") or {},
                "environment": {"parameters": given_before or {}}}

    async def template(self) -> str | None:
        """The text of the template; None if there is none."""
        if "template" in self._data:
            return _text(self._data["template"])
        url = self._data.get("template_url")
        if url is None:
            return None
        if not isinstance(url, str):
            raise faults.bad_request()
        return await Fetcher(self._settings).text(url)

    async def required_template(self) -> str:
        found = await self.template()
        if found is None:
            raise faults.bad_request("No template specified")
        return found

    def files(self) -> dict[str, str]:
        if self._data.get("files_container"):
            raise faults.bad_request("files_container is not supported.", "NotSupported")
        given = self._data.get("files") or {}
        if not isinstance(given, dict):
            raise faults.bad_request()
        return {name: text if isinstance(text, str) else msgspec.json.encode(text).decode() for name, text in given.items()}

    async def all_files(self, template: str | None, surroundings: Mapping[str, Any]) -> dict[str, str]:
        """The files of the request, and those that it names by URL only."""
        return await remote_files.gathered(self._settings, template, self.files(), surroundings)

    def environment(self, template: str = "") -> dict[str, Any]:
        """The environment with the parameters of the request over it; where there are environment files, those over both.

        `template` tells which parameters there are, for files that say how theirs are to be merged.
        """
        parameters = self._data.get("parameters", {})
        if not isinstance(parameters, dict):
            raise faults.bad_request()
        names = self._data.get("environment_files")
        if names:
            return self._merged(names, parameters, template)
        try:
            loaded = environment.load(_parsed(self._data.get("environment") or {})).as_dict()
        except errors.UserError as error:
            if error.kind != "ValueError":
                raise
            raise faults.bad_request(f"Environment not in valid format: {error}") from error
        return {**loaded, "parameters": {**loaded["parameters"], **parameters}}

    def _merged(self, names: Any, parameters: dict[str, Any], template: str) -> dict[str, Any]:
        files = self.files()
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise faults.bad_request()
        missing = [name for name in names if name not in files]
        if missing:
            raise faults.bad_request(f"The environment file {missing[0]} is not among the files.", "KeyError")
        loaded = [environment.load({"parameters": parameters}), *(environment.load(_parsed(files[n])) for n in names)]
        known = merge.known_parameters(_schemata(template), files)
        return merge.merge(loaded, known, ["the request", *names]).as_dict()

    # Whole.

    async def request(self) -> Request:
        """What a create asks for."""
        template = await self.required_template()
        surroundings, rollback = self.environment(template), self.disable_rollback()
        files = await self.all_files(template, surroundings)
        return Request(template, files, surroundings, True if rollback is None else rollback, self.timeout_s(),
                       self.tags() or ())

    async def full_update(self) -> Patch:
        """What an update asks for that says everything anew, except how the stack is run."""
        template = await self.required_template()
        surroundings = self.environment(template)
        return self._patch(template, surroundings, await self.all_files(template, surroundings), existing=False)

    async def partial_update(self, present: str) -> Patch:
        """What an update asks for that leaves alone what it does not mention; `present` is the stack's template."""
        template = await self.template()
        surroundings = self.environment(template or present)
        files = await self.all_files(template, surroundings)
        return self._patch(template, surroundings, files, existing=True, strict=False)

    def adoption_changes(self) -> Patch:
        """What is asked to be different from the papers of a stack that is taken over."""
        return self._patch(None, self.environment(), self.files(), existing=True)

    def changes_nothing(self) -> bool:
        """Whether an update asks for nothing but to be done again."""
        said = {name for name, value in self._data.items() if value or name not in _DESCRIBING}
        return not said - {"stack_name"}

    def _patch(
        self, template: str | None, surroundings: dict[str, Any], files: dict[str, str], *, existing: bool,
        strict: bool = True,
    ) -> Patch:
        tags = self.tags()
        return Patch(template, files, surroundings, self.clear_parameters() if existing else (), existing,
                     strict=strict, disable_rollback=self.disable_rollback(), timeout_s=self.timeout_s(),
                     tags=[] if tags is None and not existing else tags, converge=self.converge())

    @contextmanager
    def as_heat_errors(self) -> Iterator[None]:
        """A template that cannot even be read is told in the words of the API, and not of the engine."""
        try:
            yield
        except errors.UserError as error:
            first = error.problems[0]
            if first.path or first.label:
                raise
            if first.message.startswith(_UNREADABLE):
                why = first.message.removeprefix(_UNREADABLE)
                raise faults.bad_request(
                    f"Template not in valid format: Error parsing template [root stack] {why}") from error
            if first.message == _NO_VERSION:
                raise self._no_version() from error
            raise

    def _no_version(self) -> faults.Fault:
        if isinstance(self._data.get("template"), dict):
            return faults.bad_request("The template version is invalid: Template version was not provided",
                              "InvalidTemplateVersion")
        return faults.bad_request(f"Template not in valid format: {_NO_VERSION}")


def _text(given: Any) -> str | None:
    if given is None or isinstance(given, str):
        return given
    if not isinstance(given, dict):
        raise faults.bad_request()
    return msgspec.json.encode(given).decode()


def _parsed(given: Any) -> Any:
    return document.load(given).data if isinstance(given, str) else given


def _schemata(template: str) -> Mapping[str, ParameterSchema]:
    return model.parse(document.load(template)).parameters if template else {}
