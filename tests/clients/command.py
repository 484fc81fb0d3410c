"""`openstack` for tests: its commands and their results."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml

PATIENCE_S = 240.0
VERSION = "2021-04-16"
STANDALONE = ("--os-cloud", "isotherm")


def commands() -> set[str]:
    """Every command that heatclient adds to `openstack`."""
    return {one.name.replace("_", " ") for one in metadata.entry_points(group="openstack.orchestration.v1")}


class Refused(Exception):
    """A command that ended with an error."""


class Loaded:
    """The client that runs, and waits for command lines."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process, self._log = process, log

    def run(self, arguments: list[str], environment: Mapping[str, str], folder: Path) -> dict[str, Any]:
        self.send({"arguments": arguments, "environment": dict(environment), "folder": str(folder)})
        watchdog = threading.Timer(PATIENCE_S, self._process.kill)
        watchdog.start()
        try:
            assert self._process.stdout is not None
            line = self._process.stdout.readline()
            assert line, self._log.read_text()
            found: dict[str, Any] = json.loads(line)
            return found
        finally:
            watchdog.cancel()

    def send(self, request: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()


class OpenStack:
    """`openstack`: the words of the command, and its arguments."""

    def __init__(self, loaded: Loaded, cloud: tuple[str, ...], environment: Mapping[str, str], folder: Path) -> None:
        self._loaded, self._cloud, self._environment, self.folder = loaded, cloud, environment, folder
        self.done: set[str] = set()

    def __call__(self, command: str, *arguments: object) -> str:
        """Run the command; return its output."""
        words = [*self._cloud, *command.split(), *map(str, arguments)]
        ended = self._loaded.run(words, self._environment, self.folder)
        self.done.add(command)
        if ended["code"]:
            raise Refused(ended["out"] + ended["err"])
        assert "Traceback" not in ended["err"], ended["err"]
        said: str = ended["out"]
        return said

    def ask(self, command: str, *arguments: object) -> Any:
        """Run the client; return the data it prints, without the progress lines before it."""
        said = self(command, *arguments, "-f", "json")
        data = re.search(r"^[\[{].*", said, re.DOTALL | re.MULTILINE)
        assert data is not None, said
        return json.loads(data[0])

    def until(self, state: str, stack: str) -> None:
        until(lambda: self.ask("stack show", stack)["stack_status"] == state)

    def write(self, name: str, content: Any) -> Path:
        """Write a file into the folder in which the client is started."""
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))
        return path


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def template(resources: Mapping[str, Any], **sections: Any) -> dict[str, Any]:
    return {"heat_template_version": VERSION, **sections, "resources": dict(resources)}


def resource(value: Any = "x", **properties: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::TestResource", "properties": {"value": value, **properties}}
