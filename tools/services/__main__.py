"""The command `scripts/services`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shlex
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.services import keeper
from tools.services.packages import Impossible
from tools.services.processes import Running

_EXAMPLE = """\
example:
  scripts/services up mariadb rabbitmq    # installed where missing, started on free ports of 127.0.0.1
  eval "$(scripts/services env)"          # ISOTHERM_MARIADB_URL, ISOTHERM_RABBITMQ_URL
  scripts/services down --forget          # ended, and their data deleted
"""


def main() -> int:
    options = _parser().parse_args()
    names = getattr(options, "names", None) or keeper.NAMES
    kept = keeper.Keeper(options.folder, sync=not getattr(options, "no_sync", False))
    began = time.monotonic()
    try:
        if options.command == "up":
            _show(options, kept.up(names), f"services: up in {time.monotonic() - began:.1f} s")
        elif options.command == "down":
            ended = kept.down(names, forget=options.forget)
            print(json.dumps(ended) if options.json else f"services: ended {', '.join(ended) or 'none: none was up'}")
        elif options.command == "status":
            _show(options, kept.status())
        else:
            _environment(options, kept.status())
    except Impossible as error:
        print(f"services: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--folder", type=Path, default=keeper.DEFAULT, help="where they live (default: %(default)s)")
    common.add_argument("--json", action="store_true", help="say it as JSON")
    parser = argparse.ArgumentParser(
        prog="services", description="Private PostgreSQL, MariaDB and RabbitMQ, for tests and for trying out.",
        epilog=_EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    up = commands.add_parser("up", parents=[common], help="install what is missing, and start")
    up.add_argument("--no-sync", action="store_true", help="never wait for the disk: faster, and a crash may lose data")
    down = commands.add_parser("down", parents=[common], help="end what was started here, and nothing else")
    down.add_argument("--forget", action="store_true", help="delete their data too")
    for one in (up, down):
        one.add_argument("names", nargs="*", metavar="NAME", help=f"which (default: all): {', '.join(keeper.NAMES)}",
                         type=_name)
    commands.add_parser("status", parents=[common], help="say what runs, and where")
    commands.add_parser("env", parents=[common], help="print the URLs, for a shell to evaluate")
    return parser


def _name(text: str) -> str:
    if text not in keeper.NAMES:
        raise argparse.ArgumentTypeError(f"{text} is none of {', '.join(keeper.NAMES)}")
    return text


def _show(options: argparse.Namespace, found: Mapping[str, Running], last: str = "") -> None:
    if options.json:
        print(json.dumps({name: _facts(one) for name, one in found.items()}, indent=2))
        return
    for name, one in found.items():
        state = "up" if one.is_alive() else "died"
        print(f"{name:<12}{state:<6}{one.url:<70} pid {one.processes[0].pid}  log {one.log}")
    print(last or ("" if found else "services: none is up"), end="\n" if last or not found else "")


def _facts(one: Running) -> dict[str, Any]:
    return {**dataclasses.asdict(one), "state": "up" if one.is_alive() else "died"}


def _environment(options: argparse.Namespace, found: Mapping[str, Running]) -> None:
    urls = {f"ISOTHERM_{name.upper()}_URL": one.url for name, one in found.items() if one.is_alive()}
    print(json.dumps(urls) if options.json else "\n".join(f"export {key}={shlex.quote(url)}" for key, url in urls.items()))


if __name__ == "__main__":
    raise SystemExit(main())
