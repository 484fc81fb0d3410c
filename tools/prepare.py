"""Makes what several tests share, each once: environments of Keystone and tempest, Keystone's database, packages of servers
and of the browser.

    python -m tools.prepare

`make test` calls it beside the checks; without it, the first test that needs one of these makes it while others wait. Each
is made again when the file that pins its versions changes. Where the servers cannot be installed, the steps that need them
say so.
"""

from __future__ import annotations

import sys

from tools import keystone, services, side_environment, tempest
from tools.services import packages


def main() -> int:
    side_environment.python_of("tempest", tempest.REQUIREMENTS)
    keystone.template(side_environment.python_of("keystone", keystone.REQUIREMENTS))
    for wanted in (list(services.NAMES), ["chromium"]):
        try:
            packages.install(wanted)
        except services.Impossible as error:
            print(f"prepare: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
