"""Every command explains itself, and asking is quick."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

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


def test_help_loads_neither_templates_nor_resources() -> None:
    script = ("import sys; from isotherm.cli import main; main.main(['--help']); "
              "sys.exit(any(name.startswith(('isotherm.template', 'isotherm.resources', 'sqlalchemy', 'yaml'))"
              " for name in sys.modules))")
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=False).returncode == 0


def test_a_defect_ends_in_a_code_of_its_own_and_asks_to_be_reported(
        run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isotherm.template.versions.listed", lambda: 1 / 0)
    ran = run("template-version", "list")
    assert ran.code == codes.BUG
    assert "ZeroDivisionError" in ran.err
    assert "please report" in ran.err
