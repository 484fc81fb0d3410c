"""`isotherm template-version` and `isotherm function`: the versions and functions of the language."""

from __future__ import annotations

from tests.cli.conftest import Run


def test_versions_are_named_as_the_api_names_them(run: Run) -> None:
    listed = run("template-version", "list", "--json").data["template_versions"]
    assert len(listed) == 13
    assert {"version": "heat_template_version.2016-10-14", "type": "hot",
            "aliases": ["heat_template_version.newton"]} in listed
    assert "heat_template_version.2016-10-14      hot       newton\n" in run("template-version", "list").out


def test_the_functions_of_a_version_are_its_own(run: Run) -> None:
    old = {row["function"] for row in run("function", "list", "2013-05-23", "--json").data["functions"]}
    new = {row["function"]: row for row in run("function", "list", "--json").data["functions"]}
    assert "Ref" in old
    assert "Ref" not in new
    assert new["contains"]["since"] == "2017-09-01"
    assert new["equals"]["conditions_only"]


def test_a_version_has_several_names(run: Run) -> None:
    answers = {run("function", "list", name).out
               for name in ("newton", "2016-10-14", "heat_template_version.2016-10-14")}
    assert len(answers) == 1


def test_an_unknown_version_is_not_found(run: Run) -> None:
    ran = run("function", "list", "2099-01-01")
    assert (ran.code, ran.out) == (3, "")
    assert "There is no template version 2099-01-01." in ran.err
    assert run("function", "list", "2099-01-01", "--json").data["problems"][0]["kind"] == "EntityNotFound"


def test_a_pipe_gets_neither_colours_nor_padding(run: Run) -> None:
    out = run("function", "list").out
    assert "\x1b" not in out
    assert all(line == line.rstrip() for line in out.splitlines())
