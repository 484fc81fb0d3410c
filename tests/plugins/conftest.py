"""Runs commands with plug-ins from a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Run a command with plug-ins from a folder, in a process of its own: plug-ins are loaded once per process."""
    folder, home = tmp_path / "plugins", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    (home / "isotherm.conf").write_text(f"[DEFAULT]\nplugin_dirs = {folder}\n")

    def command(*arguments: str, **files: str) -> tuple[int, Any]:
        for name, text in files.items():
            (folder / f"{name}.py").write_text(textwrap.dedent(text))
        done = subprocess.run([sys.executable, "-m", "isotherm.cli.main", *arguments, "--json"], check=False, text=True,
                              capture_output=True, env={**os.environ, "ISOTHERM_HOME": str(home)}, cwd=tmp_path)
        assert not done.stderr.startswith("Traceback"), done.stderr
        # An operation prints one document for each event, and one at its end.
        printed = done.stdout.strip()
        if printed.startswith('{"event"'):
            return done.returncode, [json.loads(line) for line in printed.splitlines()]
        return done.returncode, json.loads(printed) if printed else done.stderr

    return command
