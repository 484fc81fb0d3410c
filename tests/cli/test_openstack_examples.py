"""The templates in examples/openstack are valid, and plans can be made of them without a cloud."""

from __future__ import annotations

from pathlib import Path

import pytest

from isotherm.cli import codes
from tests.cli.conftest import Run

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples" / "openstack").glob("*.yaml"))


def test_the_page_lists_them_all() -> None:
    page = (ROOT / "docs" / "openstack.md").read_text(encoding="utf-8")
    assert EXAMPLES and all(f"`{one.name}`" in page for one in EXAMPLES)


@pytest.mark.parametrize("command", ["validate", "plan"])
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_valid(run: Run, example: Path, command: str) -> None:
    ran = run(command, str(example))
    assert ran.code == codes.OK, ran.out + ran.err
