"""The group `manage`: finds a command, spelled with underscores or dashes, and imports only its module."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import click

from isotherm import collector, loading
from isotherm.cli import codes, main, options
from isotherm.cli.client import home
from isotherm.cli.show import encodings

_HERE = "isotherm.cli.manage"
#: name -> (module:attribute, description)
COMMANDS = {
    "migrate-convergence-1": (f"{_HERE}.migrate:migrate", "Migrate stacks from the legacy path to convergence."),
    "stack": (f"{_HERE}.stack:stack", "List the stacks of all projects."),
    "service": (f"{_HERE}.service:service", "List the processes of the service and clean up after dead ones."),
    "db_sync": (f"{_HERE}.database:db_sync", "Migrate the database to the schema of this version."),
    "db_version": (f"{_HERE}.database:db_version", "Print the schema version of the database."),
    "purge_deleted": (f"{_HERE}.purge:purge_deleted", "Purge deleted stacks from the database."),
    "purge_deleted_tenant": (
        f"{_HERE}.purge:purge_deleted_tenant",
        "Purge deleted stacks of one project from the database.",
    ),
    "reset_stack_status": (f"{_HERE}.stack:reset_stack_status", "Fail the operation in progress on a stuck stack."),
    "resource_data_list": (f"{_HERE}.stack:resource_data_list", "Print the stored data of a resource."),
    "update_params": (f"{_HERE}.secrets:update_params", "Encrypt all secrets with the newest key."),
    "migrate_properties_data": (
        f"{_HERE}.database:migrate_properties_data",
        "Do nothing; exists for compatibility with Heat.",
    ),
    "import-heat": (
        "isotherm.cli.tools.import_heat:import_heat",
        "Import stacks from the database of a Heat installation.",
    ),
}


class ManageGroup(click.Group):
    """A click group that finds commands spelled with underscores or dashes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = next((one for one in COMMANDS if _plain(one) == _plain(cmd_name)), None)
        if name is None:
            return None
        address = COMMANDS[name][0]
        command: click.Command = loading.load(address)
        return command if address.startswith(_HERE) else _with_manage_examples(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_target, line) in COMMANDS.items()])


def _plain(name: str) -> str:
    return name.replace("-", "_")


def _with_manage_examples(command: click.Command) -> click.Command:
    """Return a copy of a command of `isotherm` with `manage` in its examples."""
    changed = copy.copy(command)
    changed.epilog = (command.epilog or "").replace(f"isotherm {command.name}", f"isotherm manage {command.name}")
    return changed


@click.group("manage", cls=ManageGroup, epilog=codes.HELP, context_settings={"help_option_names": ["-h", "--help"]})
@options.files_option
@click.pass_context
def manage(context: click.Context, files: tuple[Path, ...]) -> None:
    """Administer the service, with the commands of Heat's heat-manage.

    Works on the home ($ISOTHERM_HOME), with its isotherm.conf and the configuration files given here. Every command has
    --help, with an example, and --json. Command names may be spelled with underscores or dashes.
    """
    context.meta[home.FILES] = files


def run() -> int:
    """Run the group as the entry point of the process `heat-manage`."""
    collector.tune()
    encodings.tolerate()
    try:
        return main.main(command=manage, name="heat-manage")
    finally:
        collector.leave()


if __name__ == "__main__":
    sys.exit(run())
