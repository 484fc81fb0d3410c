"""Every command explains itself, and asking is quick."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from isotherm.cli import codes, main
from tests.cli.conftest import Run


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


ALL = list(commands(main.cli))


@pytest.mark.parametrize(("path", "command"), ALL, ids=[" ".join(path) for path, _ in ALL])
def test_every_command_has_an_example_and_json(path: tuple[str, ...], command: click.Command, run: Run) -> None:
    ran = run(*path, "--help")
    assert ran.code == 0
    assert f"Example:\n    isotherm {' '.join(path)}" in ran.out
    assert "--json" in ran.out


@pytest.mark.parametrize("name", main.COMMANDS)
def test_the_list_of_commands_says_what_each_says_of_itself(name: str) -> None:
    command = main.cli.get_command(click.Context(main.cli), name)
    assert command is not None
    assert command.help is not None
    assert command.help.splitlines()[0] == main.COMMANDS[name][1]


def test_help_tells_the_exit_codes(run: Run) -> None:
    ran = run("--help")
    assert ran.code == 0
    assert "130  interrupted" in ran.out


def test_a_wrong_command_line_has_a_code_of_its_own(run: Run) -> None:
    assert run("validat").code == codes.USAGE
    assert run("plan", "no-such-file.yaml").code == codes.USAGE


def test_a_misspelt_command_is_told_with_its_likely_meaning(run: Run) -> None:
    for wrong, likely in (("lst", "'list'"), ("validat", "'validate'"), ("resorces", "'resources'")):
        ran = run(wrong)
        assert ran.code == codes.USAGE
        assert "Did you mean" in ran.err
        assert likely in ran.err
    assert "Did you mean" not in run("qqqqqq").err


def test_a_misspelt_option_of_the_configuration_is_told_with_its_likely_meaning(run: Run, home: Path) -> None:
    home.mkdir()
    (home / "isotherm.conf").write_text("[DEFAULT]\nobserver_intervall = 5\nnova_things = 1\n")
    said = run("config").out
    assert "[DEFAULT] observer_intervall (did you mean observer_interval?)" in said
    assert "[DEFAULT] nova_things" in said
    assert "nova_things (did" not in said


def test_every_command_is_in_one_section_and_the_most_used_come_first() -> None:
    shown = [name for names in main.sections().values() for name in names]
    assert sorted(shown) == sorted(main.COMMANDS)
    assert shown[:4] == ["apply", "plan", "list", "show"]


def loaded(home: Path, *arguments: str) -> set[str]:
    """Return the modules that a process has loaded after it ran the command."""
    script = ("import sys; from isotherm.cli import main; code = main.main(sys.argv[1:]); "
              "print('loaded', code, *sys.modules)")
    ran = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True,
                         env={**os.environ, "ISOTHERM_HOME": str(home)})
    last, code, *modules = ran.stdout.splitlines()[-1].split()
    assert (last, code) == ("loaded", "0")
    return set(modules)


def test_help_loads_neither_templates_nor_resources(tmp_path: Path) -> None:
    slow = ("isotherm.template", "isotherm.resources", "sqlalchemy", "yaml")
    assert [name for name in loaded(tmp_path, "--help") if name.startswith(slow)] == []


def test_a_list_of_stacks_loads_neither_the_template_language_nor_the_contract_of_types(tmp_path: Path) -> None:
    slow = ("isotherm.template", "isotherm.resources.contract", "yaml", "aiohttp")
    assert [name for name in loaded(tmp_path, "list") if name.startswith(slow)] == []


def test_a_list_of_functions_loads_no_resource_types_without_plugins(tmp_path: Path) -> None:
    slow = ("isotherm.resources", "isotherm.store", "yaml", "aiohttp", "sqlalchemy")
    assert [name for name in loaded(tmp_path, "function", "list") if name.startswith(slow)] == []


@pytest.mark.parametrize("command", ["validate", "plan"])
def test_a_template_is_read_without_store_and_engine(tmp_path: Path, command: str) -> None:
    file = tmp_path / "template.yaml"
    file.write_text("heat_template_version: 2021-04-16\nresources: {a: {type: 'OS::Heat::None'}}\n")
    slow = ("sqlalchemy", "aiohttp", "isotherm.store", "isotherm.engine.process.home.", "isotherm.engine.orchestrator")
    assert [name for name in loaded(tmp_path, command, str(file)) if name.startswith(slow)] == []


def test_a_defect_ends_in_a_code_of_its_own_and_asks_to_be_reported(
        run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isotherm.template.versions.listed", lambda: 1 / 0)
    ran = run("template-version", "list")
    assert ran.code == codes.BUG
    assert "ZeroDivisionError" in ran.err
    assert "please report" in ran.err
