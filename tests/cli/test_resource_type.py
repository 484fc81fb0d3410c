"""`isotherm resource-type`, as a user types it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run


def test_the_list_can_be_narrowed(run: Run) -> None:
    listed = [row["resource_type"] for row in run("resource-type", "list", "--json").data["resource_types"]]
    assert "OS::Heat::Dummy" in listed
    assert listed == sorted(listed)
    assert [line.split()[0] for line in run("resource-type", "list", "Random").out.splitlines()[1:]] == [
        "OS::Heat::RandomString"]


def test_a_type_shows_what_a_change_of_each_property_does(run: Run) -> None:
    out = run("resource-type", "show", "OS::Heat::RandomString").out
    length = next(line for line in out.splitlines() if line.split()[:1] == ["length"])
    assert "replaces" in length
    assert "    class  " in out
    assert "1 to 512" in length
    assert "Attributes\n" in out


def test_an_unknown_type_is_not_found(run: Run) -> None:
    ran = run("resource-type", "show", "No::Such")
    assert ran.code == 3
    assert "The Resource Type (No::Such) could not be found." in ran.err


@pytest.mark.parametrize("form", ["hot", "cfn"])
@pytest.mark.parametrize("name", ["OS::Heat::RandomString", "OS::Heat::TestResource", "OS::Heat::Dummy"])
def test_the_template_to_start_from_is_valid(name: str, form: str, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(run("resource-type", "template", name, "--form", form).out)
    ran = run("validate", file)
    assert ran.code == 0, ran.err
