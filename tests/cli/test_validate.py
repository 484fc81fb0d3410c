"""`isotherm validate`, as a user types it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.cli.conftest import Run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SITE = EXAMPLES / "site.yaml"
GOOD = sorted(file for file in EXAMPLES.glob("*.yaml") if file.name not in ("broken.yaml", "production.env.yaml"))


@pytest.mark.parametrize("file", GOOD, ids=[file.name for file in GOOD])
def test_the_sample_templates_are_valid(file: Path, run: Run) -> None:
    ran = run("validate", file)
    assert (ran.code, ran.err) == (0, "")
    assert f"{file}: valid" in ran.out


def test_parameters_are_shown_in_their_groups(run: Run) -> None:
    out = run("validate", SITE).out
    assert out.index("Size\n") < out.index("environment") < out.index("Secrets\n") < out.index("admin_token")
    assert "test (default)" in out
    assert "one of test, production" in out


def test_hidden_values_are_masked(run: Run) -> None:
    for arguments in ((), ("--json",)):
        ran = run("validate", SITE, "-p", "admin_token=a-secret-marker", *arguments)
        assert ran.code == 0
        assert "a-secret-marker" not in ran.out + ran.err
        assert "change-me" not in ran.out + ran.err
        assert "******" in ran.out


def test_the_json_answer_says_all_that_the_text_says(run: Run) -> None:
    data = run("validate", SITE, "-e", EXAMPLES / "production.env.yaml", "--json").data
    assert data["valid"] is True
    assert [group["label"] for group in data["parameter_groups"]] == ["Size", "Secrets"]
    servers = next(parameter for parameter in data["parameters"] if parameter["name"] == "servers")
    assert (servers["value"], servers["default"]) == (["alpha", "beta", "gamma"], "alpha,beta")


def test_a_parameter_on_the_command_line_wins_over_the_environment(run: Run) -> None:
    ran = run("validate", SITE, "-e", EXAMPLES / "production.env.yaml", "-p", "environment=test", "--json")
    values = {parameter["name"]: parameter["value"] for parameter in ran.data["parameters"]}
    assert values["environment"] == "test"


def test_a_value_that_is_not_allowed_is_told_at_its_parameter(run: Run) -> None:
    ran = run("validate", SITE, "-p", "environment=moon")
    assert ran.code == 1
    assert "site.yaml:15:3: error: Parameter 'environment' is invalid" in ran.err
    assert "15 |   environment:" in ran.err


def test_a_mistake_is_told_with_its_line_and_a_caret(run: Run) -> None:
    ran = run("validate", EXAMPLES / "broken.yaml")
    assert (ran.code, ran.out) == (1, "")
    first, line, caret = ran.err.splitlines()[:3]
    assert "broken.yaml:14:7: error: " in first
    assert "Unknown Property lenght" in first
    assert line == "   14 |       lenght: { get_param: size }"
    assert caret == "      |       ^^^^^^"


def test_problems_as_json_go_to_stdout(run: Run) -> None:
    ran = run("validate", EXAMPLES / "broken.yaml", "--json")
    assert (ran.code, ran.err) == (1, "")
    problem = ran.data["problems"][0]
    assert (problem["line"], problem["column"]) == (14, 7)
    assert problem["kind"] == "StackValidationFailed"


def test_a_missing_parameter_is_no_mistake_here_but_is_shown(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text("heat_template_version: 2018-08-31\nparameters: {size: {type: number}}\nresources:\n"
                    "  r: {type: 'OS::Heat::Value', properties: {value: {get_param: size}}}\n")
    ran = run("validate", file)
    assert ran.code == 0, ran.err
    assert "required" in ran.out


def test_a_template_comes_from_stdin(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "heat_template_version: 2018-08-31\nresources: {r: {type: 'No::Such'}}\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    ran = run("validate", "-")
    assert ran.code != 0
    assert "<stdin>:2:" in ran.err


@pytest.mark.parametrize("text", [b"\xff\xfe", b"a: [", b"a: 1\na: 2\n", b"", b"- 1", b"just a text", b"\x00"])
def test_what_is_no_template_gets_a_message_and_no_traceback(text: bytes, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_bytes(text)
    ran = run("validate", file)
    assert ran.code == 1
    assert "error: " in ran.err
    assert "Traceback" not in ran.err


def test_a_broken_environment_is_told_with_its_own_place(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "env.yaml"
    file.write_text("parameters:\n  a: 1\n  a: 2\n")
    ran = run("validate", SITE, "-e", file)
    assert ran.code == 1
    assert f"{file}:3:3: error: " in ran.err


def test_event_sinks_are_said_not_to_be_served(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "sinks.yaml"
    file.write_text("parameters: {environment: test}\nevent_sinks: [{type: zaqar-queue, target: q, ttl: 60}]\n")
    ran = run("validate", SITE, "-e", file, "--json")
    assert (ran.code, ran.data["valid"]) == (0, True)
    assert "note: " in ran.err
    assert "nothing is delivered to them: Isotherm does not speak to Zaqar." in " ".join(ran.err.split())
