"""The command `isotherm`: finds the subcommand, imports only its module, turns errors into messages and exit codes.

To add a command, write its module and add a line to COMMANDS. `isotherm --help` prints these lines, so that it does not
import the engine.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence

import click

import isotherm
from isotherm import collector, errors
from isotherm.cli import codes
from isotherm.cli.show import console, problems

#: name -> (module:attribute, description)
COMMANDS = {
    "up": ("isotherm.cli.service.up:up", "Run the service: API, engine and observer in one process."),
    "api": ("isotherm.cli.service.api:api", "Run the API without an engine."),
    "engine": ("isotherm.cli.service.engine:engine", "Run an engine without the API."),
    "observer": ("isotherm.cli.service.observer:observer", "Run an observer without engine and API."),
    "config": ("isotherm.cli.tools.config:config", "List the configuration options and their values."),
    "deploy": ("isotherm.cli.stacks.deploy:deploy", "Create a stack from a template and show its progress."),
    "update": ("isotherm.cli.stacks.deploy:update", "Update a stack to another template, environment or parameters."),
    "delete": ("isotherm.cli.stacks.delete:delete", "Delete a stack and its resources."),
    "rollback": ("isotherm.cli.stacks.control:rollback", "Roll a stack back to its last complete state."),
    "cancel": ("isotherm.cli.stacks.control:cancel", "Cancel the operation in progress on a stack."),
    "check": ("isotherm.cli.stacks.control:check", "Check that the resources of a stack exist."),
    "converge": (
        "isotherm.cli.stacks.control:converge",
        "Observe the resources of a stack and repair what differs from its template.",
    ),
    "suspend": ("isotherm.cli.stacks.control:suspend", "Suspend the resources of a stack."),
    "resume": ("isotherm.cli.stacks.control:resume", "Resume a suspended stack."),
    "snapshot": ("isotherm.cli.stacks.snapshot:snapshot", "Create, list, show and delete snapshots of a stack."),
    "restore": ("isotherm.cli.stacks.snapshot:restore", "Restore a stack from a snapshot."),
    "export": ("isotherm.cli.stacks.export:export", "Print the export document of a stack."),
    "abandon": ("isotherm.cli.stacks.export:abandon", "Remove a stack but leave its resources in place."),
    "adopt": ("isotherm.cli.stacks.export:adopt", "Create a stack from existing resources."),
    "manage": ("isotherm.cli.manage.commands:manage", "Administer the service, with the commands of Heat's heat-manage."),
    "import-heat": (
        "isotherm.cli.tools.import_heat:import_heat",
        "Import stacks from the database of a Heat installation.",
    ),
    "watch": ("isotherm.cli.stacks.control:watch", "Show a stack live and drive its operation to the end."),
    "signal": ("isotherm.cli.stacks.signal:signal", "Signal a resource of a stack."),
    "hook": ("isotherm.cli.stacks.signal:hook", "List and clear the hooks that a stack waits at."),
    "mark-unhealthy": ("isotherm.cli.stacks.signal:mark_unhealthy", "Mark a resource as unhealthy."),
    "drift": ("isotherm.cli.stacks.drift:drift", "Show the drift of a stack, or set its drift policy."),
    "observe": ("isotherm.cli.stacks.drift:observe", "Observe the resources of a stack now and show their drift."),
    "observing": ("isotherm.cli.stacks.drift:observing", "Show or set the observation mode of all stacks."),
    "list": ("isotherm.cli.stacks.list:list_", "List the stacks."),
    "show": ("isotherm.cli.stacks.show:show_", "Show the state, progress and outputs of a stack."),
    "resources": ("isotherm.cli.stacks.contents:resources", "List the resources of a stack."),
    "events": ("isotherm.cli.stacks.contents:events", "List the events of a stack."),
    "outputs": ("isotherm.cli.stacks.outputs:outputs", "List the outputs of a stack, or print the value of one."),
    "graph": ("isotherm.cli.stacks.graph:graph", "Draw the resources of a stack with their dependencies and states."),
    "sim": (
        "isotherm.cli.tools.sim:sim",
        "Run the engine in the simulator, with crashes, lost answers and concurrent clients.",
    ),
    "validate": ("isotherm.cli.language.validate:validate", "Validate a template and show its parameters."),
    "plan": ("isotherm.cli.stacks.plan:plan", "Show what a template would create, or what an update would change."),
    "resource-type": ("isotherm.cli.language.resource_type:resource_type", "List and show resource types."),
    "plugin": ("isotherm.cli.language.plugin:plugin", "List plug-ins."),
    "function": ("isotherm.cli.language.function:function", "List the functions of the template language."),
    "template-version": (
        "isotherm.cli.language.template_version:template_version",
        "List the versions of the template language.",
    ),
}

#: Sections of `isotherm --help`: title -> sub-packages of the commands.
SECTIONS = {"Stacks": ("stacks",), "Templates": ("language",), "Service": ("service", "manage", "tools")}
#: Commands that users may expect but that do not exist: name -> what to do instead.
UNSUPPORTED = {
    "rename": "A stack cannot be renamed, because the names of its resources may contain its name. To keep the resources "
              "under a new stack: isotherm abandon OLD --show-hidden -o FILE, then isotherm adopt NEW FILE.",
}


_KEYS = "Restore the key from your backup: add it to the file `keys` in the home, below the newer keys."


class LazyGroup(click.Group):
    """A click group that imports a command's module when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in UNSUPPORTED:
            raise click.UsageError(UNSUPPORTED[cmd_name])
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, packages in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, line) for name, (target, line) in COMMANDS.items()
                                    if target.split(".")[2] in packages])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, epilog=codes.HELP)
@click.version_option(isotherm.__version__, prog_name="isotherm")
def cli() -> None:
    """Isotherm creates the resources of a template and keeps them as the template describes them.

    Every command has --help, with an example, and --json.
    """


def main(arguments: Sequence[str] | None = None, command: click.Command = cli, name: str = "isotherm") -> int:
    """Run one command; return its exit code."""
    printer = console.Printer()
    try:
        code = command.main(arguments, prog_name=name, obj=printer, standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else codes.OK
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except errors.UserError as error:
        problems.tell(printer, error)
        return exit_code(error)
    except errors.Unreadable as error:
        problems.tell(printer, errors.UserError(str(error), kind="InvalidEncryptionKey", hint=_KEYS))
        return codes.WRONG
    except (click.Abort, KeyboardInterrupt):
        return codes.INTERRUPTED
    except SystemExit:
        # click ends this way when the reader of a pipe (head, less) closes it. Not an error.
        return codes.OK
    except BrokenPipeError:
        # The same, raised here. Redirect stdout, or Python reports the error again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return codes.OK
    except Exception:  # noqa: BLE001  # the outermost edge: a defect must end in a message and a code of its own
        traceback.print_exc()
        click.echo("This is a defect in Isotherm, not in your template: please report the lines above.", err=True)
        return codes.BUG


def exit_code(error: errors.UserError) -> int:
    if isinstance(error, errors.NotFound):
        return codes.NOT_FOUND
    return codes.CONFLICT if isinstance(error, errors.Conflict) else codes.WRONG


def run() -> int:
    """Run `main` as the entry point of the process `isotherm`."""
    collector.tune()
    return main()


if __name__ == "__main__":
    sys.exit(run())
