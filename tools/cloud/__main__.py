"""The commands `make cloud` and `make cloud-down`: start, end or show a small real OpenStack."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.cloud.site import DEFAULT, Site
from tools.services import Impossible

_USE = """\
cloud: {folder}/clouds.yaml has admin, demo and others (password: secret). To use it:
  export OS_CLIENT_CONFIG_FILE={folder}/clouds.yaml OS_CLOUD=demo
  .venv/bin/openstack network list
  ISOTHERM_TEST_CLOUD={folder} .venv/bin/python -m pytest tests/openstack
cloud: logs are in {folder}/log; `make cloud-down` ends it"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.cloud", description=__doc__)
    parser.add_argument("command", choices=["up", "down", "status"])
    parser.add_argument("--folder", type=Path, default=DEFAULT, help="where it lives (default: %(default)s)")
    parser.add_argument("--forget", action="store_true", help="with down: delete its data too")
    options = parser.parse_args()
    site = Site(options.folder)
    try:
        if options.command == "up":
            site.up()
            print(_USE.format(folder=site.folder))
        elif options.command == "down":
            print(f"cloud: ended {', '.join(site.down(forget=options.forget)) or 'none: none was up'}")
        else:
            for name, one in site.daemons.known().items():
                print(f"{name:<12}{'up' if one.is_alive() else 'died':<6}pid {one.process.pid:<8} log {one.log}")
    except Impossible as error:
        print(f"cloud: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
