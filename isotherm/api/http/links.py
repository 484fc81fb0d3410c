"""Builds absolute links, with the scheme and host of the request."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Links:
    """Builds the links of one request. `root` ends without a slash."""

    root: str

    def project(self, project: str) -> str:
        return f"{self.root}/v1/{_part(project)}"

    def stack(self, project: str, name: str, id_: str) -> str:
        return f"{self.project(project)}/stacks/{_part(name)}/{_part(id_)}"

    def resource(self, stack: str, name: str) -> str:
        """Return the link of a resource; `stack` is the link of its stack."""
        return f"{stack}/resources/{_part(name)}"

    def event(self, stack: str, resource: str, id_: object) -> str:
        return f"{self.resource(stack, resource)}/events/{_part(str(id_))}"


def link(href: str, rel: str = "self") -> dict[str, str]:
    return {"href": href, "rel": rel}


def _part(text: str) -> str:
    return quote(text, safe="")
