"""A row whose creation was begun and made no object is used again, for the resource that the newer template has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.engine.conftest import Lab, Tell, resource

# No engine runs that could create it.
NEVER = {"type": "Isotherm::Http::Object",
         "properties": {"create": {"url": "http://127.0.0.1:1/"}, "read": {"url": "http://127.0.0.1:1/{id}"}}}


@pytest.fixture
def unborn(lab: Tell, tmp_path: Path) -> Any:
    """Run a story that begins with a resource `a` whose creation has timed out before it began."""
    (tmp_path / "isotherm.conf").write_text("[DEFAULT]\nallowed_fetch_networks = 127.0.0.0/8\n")

    def tell(story: Any) -> None:
        async def whole(it: Lab) -> None:
            stack = await it.create({"a": NEVER}, timeout_s=0.5)
            assert stack["status"] == "FAILED"
            await story(it)

        lab(whole)

    return tell


def test_of_another_type(unborn: Any) -> None:
    async def story(it: Lab) -> None:
        stack = await it.update({"a": resource("1")})
        assert stack["status"] == "COMPLETE", stack
        [row] = await it.api.resources.list("s")
        assert row["resource_type"] == "OS::Heat::TestResource"
        await it.update({"a": resource("2")})
        assert await it.physical() == {"a": row["physical_resource_id"]}, "it is what it was, and was changed in place"

    unborn(story)
