"""The users, projects and roles of the tests' Keystone, and their creation over Keystone's API.

`admin` and its project come from Keystone's bootstrap; all users have the same password. Addresses of endpoints are
placeholders: each copy of the seeded database is given those that it is started with.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterable
from typing import Any, NamedTuple

PASSWORD = "secret"
REGION = "RegionOne"
IDENTITY, ORCHESTRATION = "http://identity.invalid", "http://orchestration.invalid"
ROLES = ("heat_stack_owner", "heat_stack_user")


class Person(NamedTuple):
    """A user, the project that it works in, and its roles there."""

    name: str
    project: str
    roles: tuple[str, ...]


PEOPLE = {one.name: one for one in (
    Person("admin", "admin", ("admin",)),
    Person("demo", "demo", ("member", "reader")),
    Person("colleague", "demo", ("member", "reader")),
    Person("reader", "demo", ("reader",)),
    Person("machine", "demo", ("heat_stack_user",)),
    Person("nobody", "demo", ("heat_stack_owner",)),
    Person("other", "other", ("member", "reader")),
    Person("isotherm", "service", ("service",)),
)}


class Api:
    """Keystone's API as an administrator. Existing objects are kept."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self.token = url, token

    def call(self, method: str, path: str, body: Any = None) -> Any:
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"{self.url}{path}", data, method=method, headers={
            "X-Auth-Token": self.token, "Content-Type": "application/json"})
        with DIRECT.open(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    def ensure(self, kind: str, name: str, **fields: Any) -> str:
        found = self.call("GET", f"/{kind}s?name={name}")[f"{kind}s"]
        one = found[0] if found else self.call("POST", f"/{kind}s", {kind: {"name": name, **fields}})[kind]
        return str(one["id"])


# Never through a proxy: everything here is on the loopback interface.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def log_in(url: str, person: Person) -> str:
    """Return a token of that person for its project."""
    domain = {"id": "default"}
    user = {"name": person.name, "password": PASSWORD, "domain": domain}
    body = {"auth": {"identity": {"methods": ["password"], "password": {"user": user}},
                     "scope": {"project": {"name": person.project, "domain": domain}}}}
    request = urllib.request.Request(f"{url}/auth/tokens", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"}, method="POST")
    with DIRECT.open(request, timeout=60) as answer:
        return str(answer.headers["X-Subject-Token"])


def add_people(api: Api, people: Iterable[Person]) -> None:
    """Create users with their projects and roles."""
    for person in people:
        project = api.ensure("project", person.project, domain_id="default")
        user = api.ensure("user", person.name, domain_id="default", password=PASSWORD)
        for role in person.roles:
            api.call("PUT", f"/projects/{project}/users/{user}/roles/{api.ensure('role', role)}")


def stack_domain(api: Api) -> dict[str, str]:
    """Create the domain of stack users and its administrator; return the options of a service that uses it."""
    domain = api.ensure("domain", "heat")
    user = api.ensure("user", "heat_domain_admin", domain_id=domain, password=PASSWORD)
    api.call("PUT", f"/domains/{domain}/users/{user}/roles/{api.ensure('role', 'admin')}")
    return {"stack_user_domain_id": domain, "stack_domain_admin": "heat_domain_admin",
            "stack_domain_admin_password": PASSWORD}


def publish(api: Api, name: str, kind: str, url: str) -> None:
    """Put a service into the catalogue, or change its address there."""
    service = api.ensure("service", name, type=kind)
    known = {one["interface"]: one["id"] for one in api.call("GET", f"/endpoints?service_id={service}")["endpoints"]}
    for interface in ("public", "internal", "admin"):
        endpoint = {"service_id": service, "interface": interface, "region_id": REGION, "url": url}
        if interface in known:
            api.call("PATCH", f"/endpoints/{known[interface]}", {"endpoint": endpoint})
        else:
            api.call("POST", "/endpoints", {"endpoint": endpoint})


def fill(url: str) -> None:
    """Create everything that bootstrap has not."""
    api = Api(url, log_in(url, PEOPLE["admin"]))
    for role in ROLES:
        api.ensure("role", role)
    add_people(api, PEOPLE.values())
    publish(api, "isotherm", "orchestration", f"{ORCHESTRATION}/v1/%(project_id)s")
