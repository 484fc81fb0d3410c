"""Sample stacks in a Heat: every type and case that `import-heat` has to support, on both of Heat's paths.

Each stack is made twice, on the legacy path and by convergence; some are updated afterwards, so that their rows have a
history. `fill` returns Heat's description of each stack.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tools.real_heat import Heat

STACKS = Path(__file__).resolve().parent / "stacks"
PATHS = {"legacy": False, "convergence": True}
PASSWORD = "correct horse battery staple"


def _files(*names: str) -> dict[str, str]:
    return {name: (STACKS / name).read_text() for name in names}


# The body of the request that creates each stack.
REQUESTS: Mapping[str, dict[str, Any]] = {
    "values": {"parameters": {"word": "bonjour"}, "tags": "one,two words", "timeout_mins": 30},
    "hidden": {"parameters": {"password": PASSWORD}, "disable_rollback": False},
    "groups": {},
    "nested": {
        "files": _files("pair.yaml", "leaf.yaml"),
        "environment": {"resource_registry": {"My::Pair": "pair.yaml"}, "parameters": {"name": "adam"},
                        "parameter_defaults": {"colour": "green"}},
    },
    "software": {"files": _files("setup.sh")},
    "scaling": {},
    "failed": {},
    "stuck": {},
    "resting": {},
}
# The updates of some of them.
CHANGES: Mapping[str, dict[str, Any]] = {
    "values": {"parameters": {"word": "salut"}, "tags": "one,two words"},
    "groups": {"parameters": {"size": 4}},
    "stuck": {"parameters": {"edition": "second", "broken": True}},
}
# The statuses of those that do not end with COMPLETE.
_ENDS = {"failed": "CREATE_FAILED", "stuck": "UPDATE_FAILED", "resting": "SUSPEND_COMPLETE"}


def wanted(kind: str) -> dict[str, Any]:
    """Return the final input of a stack: template, files and environment."""
    request, change = REQUESTS[kind], CHANGES.get(kind, {})
    given = {**request.get("environment", {})}
    values = {**given.get("parameters", {}), **request.get("parameters", {}), **change.get("parameters", {})}
    if values:
        given["parameters"] = values
    return {"template": (STACKS / f"{kind}.yaml").read_text(), "files": request.get("files", {}), "environment": given}


def fill(heat: Heat) -> dict[str, Any]:
    """Create all stacks; return Heat's description of them, by name."""
    for path, convergence in PATHS.items():
        with heat.engine(convergence=convergence):
            _make(heat, path)
            _change(heat, path)
            found = _descriptions(heat)
    return found


def _make(heat: Heat, path: str) -> None:
    for kind, request in REQUESTS.items():
        _send(heat, "POST", "/stacks", kind, {"stack_name": f"{kind}-{path}", **request})
    _signal(heat, f"software-{path}", *({"id": f"s{number}", "data": f"done {number}", "status": "SUCCESS"}
                                        for number in (1, 2)))
    for kind in REQUESTS:
        _wait(heat, f"{kind}-{path}", _ENDS[kind] if kind == "failed" else "CREATE_COMPLETE")


def _change(heat: Heat, path: str) -> None:
    for kind, request in CHANGES.items():
        _send(heat, "PATCH", _address(heat, f"{kind}-{path}"), kind, request)
    heat.call("POST", f"{_address(heat, f'resting-{path}')}/actions", {"suspend": None})
    heat.call("POST", f"{_address(heat, f'scaling-{path}')}/resources/grow/signal")
    for kind in (*CHANGES, "resting"):
        _wait(heat, f"{kind}-{path}", _ENDS.get(kind, "UPDATE_COMPLETE"))
    _wait_for_growth(heat, f"scaling-{path}")


def _send(heat: Heat, method: str, address: str, kind: str, request: Mapping[str, Any]) -> None:
    template = yaml.load((STACKS / f"{kind}.yaml").read_text(), _Plain)
    heat.call(method, address, {"template": template, "disable_rollback": True, **request})


class _Plain(yaml.SafeLoader):
    """Reads dates as strings, as template versions are."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as its parent has it
        first: [(tag, regexp) for tag, regexp in found if tag != "tag:yaml.org,2002:timestamp"]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()}


def _address(heat: Heat, name: str) -> str:
    """Return the full path of a stack: Heat answers a short one with a redirect."""
    found = heat.call("GET", f"/stacks?name={name}")["stacks"][0]
    return f"/stacks/{name}/{found['id']}"


def _wait(heat: Heat, name: str, status: str) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        found = heat.call("GET", f"/stacks?name={name}")["stacks"][0]
        if found["stack_status"] == status:
            return
        if found["stack_status"].endswith("_FAILED"):
            raise SystemExit(f"heat: {name}: {found['stack_status']}: {found['stack_status_reason']}\n{heat.log()[-3000:]}")
        time.sleep(0.2)
    raise SystemExit(f"heat: {name} is not {status} in time")


def _signal(heat: Heat, name: str, *signals: Mapping[str, Any]) -> None:
    """Signal the handle once it is complete: Heat may lose earlier signals."""
    deadline = time.monotonic() + 60
    address = f"{_address(heat, name)}/resources"
    while {one["resource_name"]: one for one in heat.call("GET", address)["resources"]}.get("handle", {}).get(
            "resource_status") != "CREATE_COMPLETE":
        if time.monotonic() > deadline:
            raise SystemExit(f"heat: the handle of {name} is not complete in time")
        time.sleep(0.2)
    for signal in signals:
        heat.call("POST", f"{address}/handle/signal", signal)


def _wait_for_growth(heat: Heat, name: str) -> None:
    """Wait for the end of a scaling, which shows in an attribute of the group only."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = heat.call("GET", f"{_address(heat, name)}/resources?nested_depth=2")["resources"]
        members = [one for one in found if one["resource_type"] == "OS::Heat::TestResource"]
        if len(members) == 3 and all(one["resource_status"].endswith("_COMPLETE") for one in found):
            return
        time.sleep(0.2)
    raise SystemExit(f"heat: {name} has not grown in time\n{heat.log()[-3000:]}")


def _descriptions(heat: Heat) -> dict[str, Any]:
    """Return Heat's description of its stacks, without fields that change by themselves."""
    found = {}
    for one in heat.call("GET", "/stacks")["stacks"]:
        address = f"/stacks/{one['stack_name']}/{one['id']}"
        stack = heat.call("GET", address)["stack"]
        resources = heat.call("GET", f"{address}/resources?nested_depth=5")["resources"]
        found[one["stack_name"]] = {
            "id": one["id"], "status": one["stack_status"],
            "tags": stack["tags"], "description": stack["description"], "disable_rollback": stack["disable_rollback"],
            "owner": stack["stack_owner"],
            "outputs": {output["output_key"]: output.get("output_value") for output in stack["outputs"]},
            "resources": sorted([r.get("parent_resource", ""), r["resource_name"],
                                 r["resource_type"], r["physical_resource_id"], r["resource_status"]] for r in resources),
        }
    return found
