"""`isotherm plan`, as a user types it."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SITE = EXAMPLES / "site.yaml"
PRODUCTION = EXAMPLES / "production.env.yaml"


def test_the_levels_follow_the_dependencies(run: Run) -> None:
    levels = run("plan", EXAMPLES / "chain.yaml", "--json").data["levels"]
    assert levels == [["first"], ["second"], ["third"], ["fourth"], ["fifth"]]


def test_a_condition_switches_a_resource_on(run: Run) -> None:
    without = {resource["name"] for resource in run("plan", SITE, "--json").data["resources"]}
    with_it = {resource["name"] for resource in run("plan", SITE, "-e", PRODUCTION, "--json").data["resources"]}
    assert with_it - without == {"cache"}


def test_each_dependency_has_its_reasons(run: Run) -> None:
    resources = {r["name"]: r for r in run("plan", SITE, "-e", PRODUCTION, "--json").data["resources"]}
    because = {need["resource"]: need["because"] for need in resources["app"]["requires"]}
    assert because == {
        "database": [{"by": "reference", "at": "properties.value.database"}],
        "network": [{"by": "attribute", "at": "properties.value.settings.str_replace.params.$network",
                     "attribute": ["output"]}],
        "cache": [{"by": "depends_on"}],
    }


def test_the_text_shows_steps_and_reasons(run: Run) -> None:
    out = run("plan", SITE).out
    assert out.splitlines()[0] == f"{SITE}: 5 resources in 4 steps"
    assert "password.value   value.str_replace.params.$password" in out
    assert "database         value.database" in out


def test_a_drawing_for_graphviz(run: Run) -> None:
    out = run("plan", SITE, "--dot").out
    assert out.startswith('digraph "site" {')
    reason = "value for value.str_replace.params.$password"
    assert f'"password" -> "database" [label="{reason}"];' in out


def test_a_missing_parameter_is_told_with_what_to_type(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text("heat_template_version: 2018-08-31\nparameters: {size: {type: number}}\n")
    ran = run("plan", file)
    assert ran.code == 1
    assert "The Parameter (size) was not provided." in ran.err
    assert "--parameter size=" in ran.err


def test_a_circle_is_told_at_one_of_its_resources(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text("heat_template_version: 2018-08-31\nresources:\n"
                    "  a: {type: 'OS::Heat::None', depends_on: b}\n  b: {type: 'OS::Heat::None', depends_on: a}\n")
    ran = run("plan", file)
    assert ran.code == 1
    assert "t.yaml:3:3: error: Circular Dependency Found" in ran.err


def test_the_plan_of_an_empty_template(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text("heat_template_version: 2018-08-31\n")
    assert run("plan", file).out.startswith(f"{file}: 0 resources in 0 steps")
