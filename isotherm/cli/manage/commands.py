"""The group: finds a command by Heat's spelling, with underscores or with dashes, and loads only that one."""

from __future__ import annotations

import copy
import importlib
import sys
from pathlib import Path

import click

from isotherm import collector
from isotherm.cli import codes, main, options
from isotherm.cli.client import home

_HERE = "isotherm.cli.manage"
#: name -> (module:attribute, what it does)
COMMANDS = {
    "migrate-convergence-1": (f"{_HERE}.migrate:migrate", "Take stacks of the legacy path to convergence."),
    "stack": (f"{_HERE}.stack:stack", "The stacks of all projects."),
    "service": (f"{_HERE}.service:service", "The processes of the service: engines, APIs, observers."),
    "db_sync": (f"{_HERE}.database:db_sync", "Bring the database to the schema of this version."),
    "db_version": (f"{_HERE}.database:db_version", "Tell which schema the database has."),
    "purge_deleted": (f"{_HERE}.purge:purge_deleted", "Forget stacks that were deleted long ago."),
    "purge_deleted_tenant": (
        f"{_HERE}.purge:purge_deleted_tenant",
        "Forget the stacks of one project that were deleted long ago.",
    ),
    "reset_stack_status": (f"{_HERE}.stack:reset_stack_status", "Give up what is under way on a stack that is stuck."),
    "resource_data_list": (f"{_HERE}.stack:resource_data_list", "Tell what a resource keeps for itself."),
    "update_params": (f"{_HERE}.secrets:update_params", "Seal everything with the newest key."),
    "migrate_properties_data": (
        f"{_HERE}.database:migrate_properties_data",
        "Do nothing: properties have always been where they belong.",
    ),
    "import-heat": (
        "isotherm.cli.tools.import_heat:import_heat",
        "Bring the stacks of a real Heat over, from its database.",
    ),
}


class ManageGroup(click.Group):
    """Knows its commands by name, however that is spelled."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = next((one for one in COMMANDS if _plain(one) == _plain(cmd_name)), None)
        if name is None:
            return None
        module, _, attribute = COMMANDS[name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command if module.startswith(_HERE) else _with_manage_examples(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_target, line) in COMMANDS.items()])


def _plain(name: str) -> str:
    return name.replace("-", "_")


def _with_manage_examples(command: click.Command) -> click.Command:
    """A command of the other program, whose examples are typed with `manage`."""
    retold = copy.copy(command)
    retold.epilog = (command.epilog or "").replace(f"isotherm {command.name}", f"isotherm manage {command.name}")
    return retold


@click.group("manage", cls=ManageGroup, epilog=codes.HELP, context_settings={"help_option_names": ["-h", "--help"]})
@options.files_option
@click.pass_context
def manage(context: click.Context, files: tuple[Path, ...]) -> None:
    """What operators do to a service, as with Heat's heat-manage.

    It works on the home ($ISOTHERM_HOME), with the options of its isotherm.conf and of the files given here. Each command
    has its own --help, with an example, and --json. Names may be spelled with underscores or with dashes.
    """
    context.meta[home.FILES] = files


def run() -> int:
    """What the command `heat-manage` calls."""
    collector.tune()
    return main.main(command=manage, name="heat-manage")


if __name__ == "__main__":
    sys.exit(run())
