"""The command `isotherm`: finds the subcommand, imports only its module, turns errors into messages and exit codes.

To add a command, write its module and add a line to COMMANDS. `isotherm --help` prints these lines, so that it does not
import the engine.
"""

from __future__ import annotations

import difflib
import os
import sys
import traceback
from collections.abc import Sequence

import click

import isotherm
from isotherm import collector, errors, loading
from isotherm.cli import codes, options
from isotherm.cli.show import console, encodings, problems

#: name -> (module:attribute, description)
COMMANDS = {
    "up": ("isotherm.cli.service.up:up", "Run the service: API, page, engine and observer in one process."),
    "open": ("isotherm.cli.service.open:open_", "Print a link to the page of the running service."),
    "api": ("isotherm.cli.service.api:api", "Run the API without an engine."),
    "engine": ("isotherm.cli.service.engine:engine", "Run an engine without the API."),
    "observer": ("isotherm.cli.service.observer:observer", "Run an observer without engine and API."),
    "config": ("isotherm.cli.tools.config:config", "List the configuration options and their values."),
    "apply": ("isotherm.cli.stacks.apply:apply", "Create or update a stack: show the plan, ask, apply it."),
    "deploy": ("isotherm.cli.stacks.deploy:deploy", "Create a stack from a template and show its progress."),
    "update": ("isotherm.cli.stacks.deploy:update", "Update a stack to another template, environment or parameters."),
    "delete": ("isotherm.cli.stacks.delete:delete", "Delete stacks and their resources."),
    "rollback": (
        "isotherm.cli.stacks.control:rollback",
        "Roll a stack back to its last complete state, or to an earlier generation.",
    ),
    "retry": ("isotherm.cli.stacks.control:retry", "Go on with what failed or was left out, without a new template."),
    "history": ("isotherm.cli.reads.causes:history", "List the inputs that a stack had."),
    "diff": ("isotherm.cli.reads.causes:diff", "Compare the inputs of two generations of a stack."),
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
    "protect": ("isotherm.cli.ownership.protection:protect", "Protect a stack from delete, or a resource from any change."),
    "unprotect": ("isotherm.cli.ownership.protection:unprotect", "Lift the protection of a stack or a resource."),
    "forget": ("isotherm.cli.ownership.protection:forget", "Remove a resource or a stack, and leave its objects in place."),
    "move": ("isotherm.cli.ownership.moves:move", "Move a resource to another stack, without touching its object."),
    "export": ("isotherm.cli.stacks.export:export", "Print the export document of a stack."),
    "abandon": ("isotherm.cli.stacks.export:abandon", "Remove a stack but leave its resources in place."),
    "adopt": ("isotherm.cli.stacks.export:adopt", "Create a stack from existing resources."),
    "import": (
        "isotherm.cli.ownership.imports:import_",
        "Take existing objects into a stack, new or old, without touching them.",
    ),
    "manage": ("isotherm.cli.manage.commands:manage", "Administer the service, with the commands of Heat's heat-manage."),
    "import-heat": (
        "isotherm.cli.tools.import_heat:import_heat",
        "Import stacks from the database of a Heat installation.",
    ),
    "watch": ("isotherm.cli.stacks.control:watch", "Show a stack live until its operation ends."),
    "work": ("isotherm.cli.stacks.control:work", "Drive the operation of a stack to its end, and show it live."),
    "signal": ("isotherm.cli.stacks.signal:signal", "Signal a resource of a stack."),
    "hook": ("isotherm.cli.stacks.signal:hook", "List and clear the hooks that a stack waits at."),
    "mark-unhealthy": ("isotherm.cli.stacks.signal:mark_unhealthy", "Mark a resource as unhealthy."),
    "drift": ("isotherm.cli.stacks.drift:drift", "Show the drift of a stack, or set its drift policy."),
    "observe": ("isotherm.cli.stacks.drift:observe", "Observe the resources of a stack now and show their drift."),
    "observing": ("isotherm.cli.stacks.drift:observing", "Show or set the observation mode of all stacks."),
    "list": ("isotherm.cli.reads.list:list_", "List the stacks."),
    "show": ("isotherm.cli.reads.show:show_", "Show the state, progress, parameters and outputs of a stack."),
    "resource": ("isotherm.cli.reads.resource:resource", "Show one resource of a stack: properties, attributes, causes."),
    "template": ("isotherm.cli.reads.inputs:template", "Print the template of a stack."),
    "environment": ("isotherm.cli.reads.inputs:environment", "Print the environment of a stack."),
    "files": ("isotherm.cli.reads.inputs:files", "List the files of a stack, or print one."),
    "resources": ("isotherm.cli.reads.contents:resources", "List the resources of a stack."),
    "events": ("isotherm.cli.reads.contents:events", "List the events of a stack."),
    "outputs": ("isotherm.cli.reads.outputs:outputs", "List the outputs of a stack, or print the value of one."),
    "graph": ("isotherm.cli.reads.graph:graph", "Draw the resources of a stack with their dependencies and states."),
    "why": ("isotherm.cli.reads.causes:why", "Explain why a resource waits, or why it failed."),
    "timeline": ("isotherm.cli.reads.causes:timeline", "Show when each resource of an operation began and ended."),
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

#: Sections of `isotherm --help`: title -> commands, the most used first. A command that is in none of them comes at the end
#: of the section of its sub-package.
SECTIONS = {
    "Stacks": ("apply", "plan", "list", "show", "watch", "delete"),
    "Looking into a stack": ("resources", "resource", "events", "outputs", "graph", "why", "timeline", "template",
                             "environment", "files"),
    "Changing a stack": ("deploy", "update", "rollback", "cancel", "work", "check", "suspend", "resume"),
    "Reality": ("observe", "drift", "converge", "observing", "mark-unhealthy"),
    "Templates": ("validate", "resource-type", "function", "template-version", "plugin"),
    "Service": ("up", "open", "config", "api", "engine", "observer", "manage", "import-heat", "sim"),
}
_SECTION_OF = {"reads": "Looking into a stack", "language": "Templates",
               **dict.fromkeys(("stacks", "ownership"), "Changing a stack")}
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
        command: click.Command = loading.load(COMMANDS[cmd_name][0])
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-") and args[0] not in {*COMMANDS, *UNSUPPORTED}:
            likely = difflib.get_close_matches(args[0], COMMANDS)
            more = f" Did you mean {' or '.join(repr(one) for one in likely)}?" if likely else ""
            raise click.UsageError(f"No such command '{args[0]}'.{more}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, names in sections().items():
            with formatter.section(title):
                formatter.write_dl([(name, COMMANDS[name][1]) for name in names])


def sections() -> dict[str, list[str]]:
    """Return all commands by section, in the order in which they are shown."""
    found = {title: list(names) for title, names in SECTIONS.items()}
    named = {name for names in found.values() for name in names}
    for name, (target, _) in COMMANDS.items():
        if name not in named:
            found[_SECTION_OF.get(target.split(".")[2], "Service")].append(name)
    return found


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, epilog=codes.HELP)
@click.version_option(isotherm.__version__, prog_name="isotherm")
@options.remote_option
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
        if isinstance(error, click.NoSuchOption) and error.option_name == "--remote":
            error = click.UsageError("Write --remote before the command: isotherm --remote NAME ...", error.ctx)
        error.show()
        return error.exit_code
    except errors.UserError as error:
        problems.show(printer, error)
        return codes.of(error)
    except errors.Unreadable as error:
        problems.show(printer, errors.UserError(str(error), kind="InvalidEncryptionKey", hint=_KEYS))
        return codes.WRONG
    except errors.CloudError as error:
        problems.show(printer, errors.UserError(str(error), kind="ServiceUnavailable", hint="Nothing was changed."))
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


def run() -> int:
    """Run `main` as the entry point of the process `isotherm`."""
    collector.tune()
    encodings.tolerate()
    try:
        return main()
    finally:
        collector.leave()


if __name__ == "__main__":
    sys.exit(run())
