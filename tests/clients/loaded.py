"""OpenStack's command line client, loaded once: a process that forks itself for each command line it is given.

To load the client takes a second, which would be most of the time of these tests. Nothing else is different from typing
the command: a process of its own, its arguments, its environment, its exit code. Only the seconds that the client sleeps
between two looks at a stack are cut short.

On standard input and output: a JSON object per line.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from contextlib import redirect_stdout
from importlib import metadata
from types import SimpleNamespace
from typing import Any, BinaryIO

from heatclient.common import event_utils
from openstackclient import shell
from osc_lib import clientmanager

NAP_S = 0.1


def answer(request: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            become(request, out, err)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        return {"code": code, "out": out.read().decode(), "err": err.read().decode()}


def become(request: dict[str, Any], out: BinaryIO, err: BinaryIO) -> None:
    """Run the client with this command line in the child process."""
    code = 70
    try:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        code = shell.main(request["arguments"])
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def warm_up(request: dict[str, Any]) -> None:
    """Import the modules that the client loads lazily, so that the children need not.

    Nothing else of that is kept: neither the environment nor the connection.
    """
    before = dict(os.environ)
    os.environ.update(request["environment"])
    with redirect_stdout(sys.stderr):
        shell.main(request["arguments"])
    os.environ.clear()
    os.environ.update(before)
    for known in vars(clientmanager.ClientManager).values():
        if isinstance(known, clientmanager.ClientCache):
            known._handle = None


def main() -> None:
    event_utils.time = SimpleNamespace(sleep=lambda seconds: time.sleep(min(seconds, NAP_S)))
    for command in metadata.entry_points(group="openstack.orchestration.v1"):
        command.load()
    warm_up(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
