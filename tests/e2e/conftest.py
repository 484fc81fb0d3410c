"""Running `isotherm` as a process of its own, on a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Start = Callable[..., "subprocess.Popen[str]"]
COMMAND = [sys.executable, "-m", "isotherm.cli.main"]
MANAGE = [sys.executable, "-m", "isotherm.cli.manage.commands"]


class Home:
    """A home folder, and the commands that use it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "ISOTHERM_HOME": str(folder), "PYTHONUNBUFFERED": "1"}

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        command = [*COMMAND, *map(str, arguments)]
        return subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def run(self, *arguments: object, timeout_s: float = 60) -> tuple[int, str]:
        with self.start(*arguments) as process:
            try:
                out, _ = process.communicate(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return process.returncode, out

    def ask(self, *arguments: object) -> Any:
        code, out = self.run(*arguments, "--json")
        assert code == 0, out
        return json.loads(out)

    def made(self) -> list[dict[str, Any]]:
        """Everything that was ever made in reality, as its journal tells: a line with a token makes or changes."""
        existing: set[str] = set()
        made = []
        for line in filter(None, (self.folder / "reality.journal").read_text().splitlines()):
            entry = json.loads(line)
            if "token" not in entry:
                existing.discard(entry["id"])
            elif entry["id"] not in existing:
                existing.add(entry["id"])
                made.append(entry)
        return made


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")
