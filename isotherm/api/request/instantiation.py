"""Reads the body that create, update, preview and validate share, into a request of the engine.

Fields are read lazily and in Heat's order, so that of several mistakes the same one is reported first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
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
# The field of a plan that the request is bound to.
PLAN_TOKEN = "plan_token"
_UNREADABLE, _NO_VERSION = "Error parsing template: ", "Template format version not found."
_DESCRIBING = frozenset({"stack_name", "template", "template_url", "parameters", "environment", "files",
                         "environment_files", "files_container"})


class Instantiation:
    """The body of a request that describes a stack."""

    def __init__(self, data: Mapping[str, Any], settings: Settings) -> None:
        self._data = data
        self._settings = settings

    # Options of the operation.

    def check_arguments(self, *, update: bool = False) -> None:
        """Check the fields that Heat checks before all others."""
        self.timeout_s()
        self.tags()
        if "converge" in self._data:
            if not update:
                raise faults.bad_request("converge flag only supported in stack update (or update preview) request.")
            queries.boolean("converge", self._data["converge"], "ValueError")
        if "moved" in self._data and not update:
            raise faults.bad_request("moved is only supported in requests to update a stack, to plan or to preview that.")

    def timeout_s(self) -> float | None:
        """Return the timeout; None if it is not given, or zero, as in Heat."""
        given = self._data.get("timeout_mins")
        return None if given is None else float(queries.non_negative("timeout_mins", given) * MINUTE) or None

    def tags(self) -> list[str] | None:
        given = self._data.get("tags")
        return None if given is None else queries.tags(given)

    def disable_rollback(self) -> bool | None:
        given = self._data.get("disable_rollback")
        return None if given is None else queries.boolean("disable_rollback", given, "ValueError")

    def _converge(self) -> bool:
        """Return whether the update observes reality before it decides."""
        return queries.boolean("converge", self._data.get("converge", False), "ValueError")

    def _moved(self) -> dict[str, str]:
        """Return the resources that get another name, old name to new name."""
        given = self._data.get("moved") or {}
        if not isinstance(given, dict) or not all(isinstance(name, str) for name in given.values()):
            raise faults.bad_request("moved must map old names of resources to new names.")
        return given

    def _chosen(self, field: str) -> list[str]:
        """Return the names in `target` or `exclude`."""
        return queries.names(field, self._data.get(field))

    def plan_token(self) -> str:
        """Return the token of the plan that the request is bound to; empty if there is none."""
        given = self._data.get(PLAN_TOKEN)
        if given is not None and not (isinstance(given, str) and given):
            raise faults.bad_request(f"{PLAN_TOKEN} must be the token of a plan.")
        return given or ""

    def clear_parameters(self) -> list[str]:
        given = self._data.get("clear_parameters") or []
        if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
            raise faults.bad_request()
        return given

    # The stack itself.

    def stack_name(self) -> str:
        if "stack_name" not in self._data:
            raise faults.bad_request("No stack name specified")
        name = self._data["stack_name"]
        if not isinstance(name, str):
            raise faults.bad_request()
        return name

    def export_document(self) -> dict[str, Any] | None:
        """Return the export document to adopt, reduced to template, parameters and resources; None if there is none."""
        if "adopt_stack_data" not in self._data:
            return None
        given = self._data["adopt_stack_data"]
        if not isinstance(given, str):
            raise faults.bad_request()
        try:
            exported = document.load(given).data
        except errors.UserError as error:
            raise faults.bad_request(f"Invalid adopt data: {error}") from error
        if not isinstance(exported, dict) or "template" not in exported:
            raise faults.bad_request("Invalid adopt data: 'template'")
        env = exported.get("environment")
        given_before = env.get("parameters") if isinstance(env, dict) else None
        return {"template": exported["template"], "resources": exported.get("resources") or {},
                "environment": {"parameters": given_before or {}},
                "stack_protection": exported.get("stack_protection") or {}}

    async def template(self) -> str | None:
        """Return the text of the template; None if the request has none."""
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

    async def read_container(self, read: Callable[[str, Collection[str]], Awaitable[dict[str, str]]]) -> None:
        """Add the files of the container that the request names. Files of the request itself win, and are not read."""
        container = self._data.get("files_container")
        if not container:
            return
        if not isinstance(container, str):
            raise faults.bad_request()
        given = self.files()
        self._data = {**self._data, "files": {**await read(container, given.keys()), **given}}

    def files(self) -> dict[str, str]:
        given = self._data.get("files") or {}
        if not isinstance(given, dict):
            raise faults.bad_request()
        return {name: text if isinstance(text, str) else msgspec.json.encode(text).decode() for name, text in given.items()}

    async def all_files(self, template: str | None, env: Mapping[str, Any]) -> dict[str, str]:
        """Return the files of the request, and fetch those that it names by URL only."""
        return await remote_files.gathered(self._settings, template, self.files(), env)

    def environment(self, template: str = "") -> dict[str, Any]:
        """Merge the environment, then the parameters of the request, then the environment files; the later wins.

        `template` declares the parameters, for environment files with merge strategies.
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

    # Requests of the engine.

    async def request(self) -> Request:
        """Return the request of a create."""
        template = await self.required_template()
        env, rollback = self.environment(template), self.disable_rollback()
        files = await self.all_files(template, env)
        return Request(template, files, env, True if rollback is None else rollback, self.timeout_s(),
                       self.tags() or (), target=self._chosen("target"), exclude=self._chosen("exclude"))

    async def full_update(self) -> Patch:
        """Return the patch of a PUT: everything but the options of the operation is replaced."""
        template = await self.required_template()
        env = self.environment(template)
        return self._patch(template, env, await self.all_files(template, env), existing=False)

    async def partial_update(self, present: str) -> Patch:
        """Return the patch of a PATCH: fields that are not given keep their value. `present` is the stack's template."""
        template = await self.template()
        env = self.environment(template or present)
        files = await self.all_files(template, env)
        # Heat ignores unknown parameters; the command line asks for an error.
        strict = queries.boolean("strict", self._data.get("strict", False), "ValueError")
        return self._patch(template, env, files, existing=True, strict=strict)

    def adoption_changes(self) -> Patch:
        """Return the changes to apply to the export document on adoption."""
        return self._patch(None, self.environment(), self.files(), existing=True)

    def changes_nothing(self) -> bool:
        """Return whether an update gives no new value."""
        said = {name for name, value in self._data.items() if value or name not in _DESCRIBING}
        return not said - {"stack_name", PLAN_TOKEN}

    def _patch(
        self, template: str | None, env: dict[str, Any], files: dict[str, str], *, existing: bool,
        strict: bool = True,
    ) -> Patch:
        tags = self.tags()
        return Patch(template, files, env, self.clear_parameters() if existing else (), existing,
                     strict=strict, disable_rollback=self.disable_rollback(), timeout_s=self.timeout_s(),
                     tags=[] if tags is None and not existing else tags, converge=self._converge(), moved=self._moved(),
                     target=self._chosen("target"), exclude=self._chosen("exclude"))

    @contextmanager
    def as_heat_errors(self) -> Iterator[None]:
        """Turn errors of unreadable templates into the errors that Heat's API returns for them."""
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
