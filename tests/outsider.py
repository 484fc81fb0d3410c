"""Another client of the cloud: requests with openstacksdk's session, by the names of a stack's resources."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests import patience
from tests.clouds import CloudProject
from tests.drift_changes import Change

WITHIN_S = 300.0
NOVA = {"OpenStack-API-Version": "compute 2.79"}
Run = Callable[..., str]


class Outsider:
    """Changes objects with openstacksdk's session, by the names of their resources."""

    def __init__(self, project: CloudProject, ids: dict[str, str]) -> None:
        self._project = project
        self.ids = ids

    def send(self, method: str, service: str, path: str, body: object = None) -> Any:
        """Send a request in the project; return the document that answers it. A busy object is asked again."""
        session: Any = self._project.sdk.session
        endpoint = {"service_type": service, "interface": "public"}
        path = self.filled(path)
        if service in ("network", "load-balancer"):
            # The catalogue has these without a version.
            endpoint["version"] = None  # type: ignore[assignment]
        answers: list[Any] = []

        def accepted() -> bool:
            answers[:] = [session.request(
                path, method, endpoint_filter=endpoint, raise_exc=False, headers=NOVA if service == "compute" else {},
                **({} if body is None else {"json": json.loads(self.filled(json.dumps(body)))}))]
            # Neutron refuses with 409 what will never do.
            return bool(answers[0].status_code != 409 or service == "network")

        try:
            patience.until(accepted, WITHIN_S)
        except AssertionError as error:
            raise AssertionError(f"{method} {path}: {answers[0].text}") from error
        assert answers[0].ok, f"{method} {path}: {answers[0].text}"
        return answers[0].json() if answers[0].content else None

    def change(self, change: Change) -> None:
        self.send(change.method, change.service, change.path, change.body)
        if change.complete is not None:
            path, keys, value = change.complete

            def is_complete() -> bool:
                found = self.send("GET", change.service, path)
                for key in keys:
                    found = found[key]
                return bool(found == value)

            patience.until(is_complete, WITHIN_S)

    def filled(self, text: str) -> str:
        """Put the ids of resources in the places of their names."""
        for name, id_ in self.ids.items():
            text = text.replace(f"{{{name}}}", id_)
        return text


def ids(run: Run, stack: str = "s") -> dict[str, str]:
    """Return the physical ids of a stack's resources, by name."""
    resources = json.loads(run("resources", stack, "--json"))
    found = resources["resources"] if isinstance(resources, dict) else resources
    return {one["resource_name"]: one["physical_resource_id"] for one in found}


def seen(run: Run, stack: str = "s") -> dict[str, set[str]]:
    """Observe the stack; return the drifted properties of each resource; `gone` for what does not exist.

    It is observed again while a busy service does not answer in time.
    """
    found: list[dict[str, Any]] = []

    def all_seen() -> bool:
        found[:] = json.loads(run("observe", stack, "--json"))["resources"]
        return all(one["drift"] != "unseen" for one in found)

    patience.until(all_seen, WITHIN_S)
    return {one["resource_name"]: {each["property"] for each in one["properties"]} or {one["drift"]}
            for one in found if one["drift"] != "in_sync"}
