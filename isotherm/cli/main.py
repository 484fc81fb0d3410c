"""The command `isotherm`: finds the subcommand, loads only that one, turns what goes wrong into a message and a code.

Each noun has a file of its own beside this one. To add a command, write the file and name it in COMMANDS; the one line
there is what `isotherm --help` prints, so that asking for help does not load the engine.
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

#: name -> (module:attribute, what it does)
COMMANDS = {
    "up": ("isotherm.cli.service.up:up", "Run the service: API, engine and observer in one process."),
    "api": ("isotherm.cli.service.api:api", "Run the API without an engine, until it is told to end."),
    "engine": ("isotherm.cli.service.engine:engine", "Run a worker without the API, until it is told to end."),
    "observer": ("isotherm.cli.service.observer:observer", "Run an observer alone, until it is told to end."),
    "config": ("isotherm.cli.tools.config:config", "The options there are, and what they are set to."),
    "deploy": ("isotherm.cli.stacks.deploy:deploy", "Make a stack from a template, and watch it come into being."),
    "update": ("isotherm.cli.stacks.deploy:update", "Bring a stack to another template, environment or parameters."),
    "delete": ("isotherm.cli.stacks.delete:delete", "Delete a stack and all that belongs to it."),
    "rollback": ("isotherm.cli.stacks.control:rollback", "Take a stack back to the last state that was complete."),
    "cancel": ("isotherm.cli.stacks.control:cancel", "Stop what is under way on a stack."),
    "check": ("isotherm.cli.stacks.control:check", "Ask every resource of a stack whether it is still there."),
    "converge": (
        "isotherm.cli.stacks.control:converge",
        "Bring a stack back to what its template says, whatever it really is.",
    ),
    "suspend": ("isotherm.cli.stacks.control:suspend", "Put every resource of a stack to rest."),
    "resume": ("isotherm.cli.stacks.control:resume", "Wake the resources of a stack that was suspended."),
    "snapshot": ("isotherm.cli.stacks.snapshot:snapshot", "Snapshots of a stack: what it was, to go back to."),
    "restore": ("isotherm.cli.stacks.snapshot:restore", "Bring a stack back to a snapshot."),
    "export": ("isotherm.cli.stacks.export:export", "All there is to say of a stack, for whoever is to take it over."),
    "abandon": ("isotherm.cli.stacks.export:abandon", "Let go of a stack, and leave all that it made where it is."),
    "adopt": ("isotherm.cli.stacks.export:adopt", "Make a stack of what is there already."),
    "manage": ("isotherm.cli.manage.commands:manage", "What operators do to a service, as with Heat's heat-manage."),
    "import-heat": (
        "isotherm.cli.tools.import_heat:import_heat",
        "Bring the stacks of a real Heat over, from its database.",
    ),
    "watch": ("isotherm.cli.stacks.control:watch", "Show a stack live, and drive what is under way to its end."),
    "signal": ("isotherm.cli.stacks.signal:signal", "Signal a resource of a stack."),
    "hook": ("isotherm.cli.stacks.signal:hook", "Places at which an operation pauses until it is told to go on."),
    "mark-unhealthy": ("isotherm.cli.stacks.signal:mark_unhealthy", "Say of a resource that it does not work."),
    "drift": ("isotherm.cli.stacks.drift:drift", "What of a stack is not what was made of it, and what is done about it."),
    "observe": ("isotherm.cli.stacks.drift:observe", "Look now at what a stack has made, and show what has drifted."),
    "observing": ("isotherm.cli.stacks.drift:observing", "Pause the watching or the repairs of all stacks, or go on."),
    "list": ("isotherm.cli.stacks.list:list_", "The stacks there are."),
    "show": ("isotherm.cli.stacks.show:show_", "One stack: its state, how far it has come, its outputs."),
    "resources": ("isotherm.cli.stacks.contents:resources", "The resources of a stack."),
    "events": ("isotherm.cli.stacks.contents:events", "What happened to a stack, in order."),
    "outputs": ("isotherm.cli.stacks.outputs:outputs", "The outputs of a stack, or the value of one."),
    "graph": ("isotherm.cli.stacks.graph:graph", "Draw the resources of a stack, what they hang on, and their states."),
    "sim": (
        "isotherm.cli.tools.sim:sim",
        "Run the engine in a simulated world, with crashes, lost answers and clients that get in each other's way.",
    ),
    "validate": ("isotherm.cli.language.validate:validate", "Check a template, and show what it asks for."),
    "plan": ("isotherm.cli.stacks.plan:plan", "Show what a template would make, in which order and why."),
    "resource-type": ("isotherm.cli.language.resource_type:resource_type", "The resource types that templates can use."),
    "function": ("isotherm.cli.language.function:function", "The functions of the template language."),
    "template-version": (
        "isotherm.cli.language.template_version:template_version",
        "The versions of the template language.",
    ),
}

#: What somebody may look for in vain: name -> what to do instead.
UNSUPPORTED = {
    "rename": "A stack keeps its name for life: what it made may bear it. To have all of it under another name without "
              "making anything anew: isotherm abandon OLD --show-hidden -o FILE, then isotherm adopt NEW FILE.",
}


_KEYS = "Bring the key back from the backup: into the file `keys` of the home, below the newer ones."


class LazyGroup(click.Group):
    """A group that knows its commands by name and loads the one that is called."""

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
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_target, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, epilog=codes.HELP)
@click.version_option(isotherm.__version__, prog_name="isotherm")
def cli() -> None:
    """Isotherm takes a template, makes reality match it, and keeps it matching.

    Every command has its own --help, with an example, and --json.
    """


def main(arguments: Sequence[str] | None = None, command: click.Command = cli, name: str = "isotherm") -> int:
    """Run one command; the number is the exit code."""
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
        # click's way to end when whoever reads our answer (head, less) has had enough. Nothing went wrong.
        return codes.OK
    except BrokenPipeError:
        # The same, noticed by us. Python would complain once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return codes.OK
    except Exception:  # noqa: BLE001  # the outermost edge: a defect must end in a message and a code of its own
        traceback.print_exc()
        click.echo("This is a defect of Isotherm, not of your template: please report the lines above.", err=True)
        return codes.BUG


def exit_code(error: errors.UserError) -> int:
    if isinstance(error, errors.NotFound):
        return codes.NOT_FOUND
    return codes.CONFLICT if isinstance(error, errors.Conflict) else codes.WRONG


def run() -> int:
    """`main` in a process of its own: what the command `isotherm` calls."""
    collector.tune()
    return main()


if __name__ == "__main__":
    sys.exit(run())
