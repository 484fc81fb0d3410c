"""The body that create, update, preview and validate share: from what clients send to what the engine is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from isotherm import errors
from isotherm.api import faults, queries
from isotherm.engine.orchestrator import Patch, Request
from isotherm.template import document, environment, merging

MINUTE = 60
TAG_LENGTH = 80


class Instantiation:
    """The body of a request that describes a stack. Fields are read when they are asked for, in Heat's order."""

    def __init__(self, data: Mapping[str, Any], default_timeout_s: float) -> None:
        self._data = data
        self._default_timeout_s = default_timeout_s

    def stack_name(self) -> str:
        name = self._data.get("stack_name")
        if not name:
            raise faults.bad("No stack name specified")
        if not isinstance(name, str):
            raise faults.bad()
        return name

    def tags(self) -> list[str] | None:
        given = self._data.get("tags")
        if given is None:
            return None
        if not isinstance(given, str):
            raise faults.bad("Tags are given as one text, separated by commas.", "AttributeError")
        tags = given.split(",")
        if any(len(tag) > TAG_LENGTH for tag in tags):
            raise faults.bad(f'Invalid tag, "{given}" is longer than {TAG_LENGTH} characters', "Invalid")
        return tags

    def timeout_s(self) -> float | None:
        """None if nothing is said of it; Heat takes zero as that too."""
        given = self._data.get("timeout_mins")
        minutes = queries.whole("timeout_mins", given) if given not in (None, "") else 0
        return float(minutes * MINUTE) or None

    def disable_rollback(self) -> bool | None:
        given = self._data.get("disable_rollback")
        return None if given is None else queries.boolean("disable_rollback", given)

    def template(self) -> str | None:
        """The text of the template."""
        given = self._data.get("template")
        if given is None:
            return None
        if isinstance(given, str):
            return given
        if not isinstance(given, dict):
            raise faults.bad()
        return msgspec.json.encode(given).decode()

    def files(self) -> dict[str, str]:
        given = self._data.get("files") or {}
        if not isinstance(given, dict):
            raise faults.bad()
        return {name: text if isinstance(text, str) else msgspec.json.encode(text).decode() for name, text in given.items()}

    def environment(self) -> dict[str, Any]:
        """The environment with the parameters of the request over it, or the environment files over those."""
        parameters = self._data.get("parameters", {})
        if not isinstance(parameters, dict):
            raise faults.bad()
        names = self._data.get("environment_files")
        if names:
            return self._merged(names, parameters)
        try:
            found = _parsed(self._data.get("environment") or {})
            loaded = environment.load(found).as_dict()
        except errors.UserError as error:
            raise faults.bad(f"Environment not in valid format: {error}") from error
        return {**loaded, "parameters": {**loaded.get("parameters", {}), **parameters}}

    def clear_parameters(self) -> list[str]:
        given = self._data.get("clear_parameters") or []
        if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
            raise faults.bad()
        return given

    def _merged(self, names: Any, parameters: dict[str, Any]) -> dict[str, Any]:
        files = self.files()
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise faults.bad()
        missing = [name for name in names if name not in files]
        if missing:
            raise faults.bad(f"The environment file {missing[0]} is not among the files.", "KeyError")
        loaded = [environment.load({"parameters": parameters}), *(environment.load(_parsed(files[n])) for n in names)]
        known = merging.known_parameters({}, files)
        return merging.merge(loaded, known, names).as_dict()

    def request(self) -> Request:
        """What a create or a whole update asks for."""
        tags, timeout_s, rollback = self.tags(), self.timeout_s(), self.disable_rollback()
        template = self.template()
        if template is None:
            raise faults.bad("No template specified")
        return Request(template, self.files(), self.environment(), True if rollback is None else rollback,
                       self._default_timeout_s if timeout_s is None else timeout_s, tags or ())

    def patch(self, *, existing: bool) -> Patch:
        """What an update asks for that leaves alone what it does not mention."""
        tags, timeout_s = self.tags(), self.timeout_s()
        template = self.template()
        if template is None and not existing:
            raise faults.bad("No template specified")
        if tags is None and not existing:
            tags = []
        return Patch(template, self.files(), self.environment(), self.clear_parameters() if existing else (), existing,
                     disable_rollback=self.disable_rollback(), timeout_s=timeout_s, tags=tags)


def _parsed(given: Any) -> Any:
    return document.load(given).data if isinstance(given, str) else given
