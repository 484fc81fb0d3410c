"""A service names the plug-ins that could not be loaded when it starts, and works without them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("command", ["up --port 0", "api --port 0", "engine", "observer"])
def test_a_broken_plug_in_is_named_at_start(tmp_path: Path, command: str) -> None:
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "broken.py").write_text("raise RuntimeError('no cloud')\n")
    (tmp_path / "isotherm.conf").write_text(f"[DEFAULT]\nplugin_dirs = {folder}\n")
    errors = tmp_path / "stderr"
    with errors.open("w") as stderr:
        service = subprocess.Popen(
            [sys.executable, "-m", "isotherm.cli.main", *command.split()], text=True, stdout=subprocess.PIPE,
            stderr=stderr, env={**os.environ, "ISOTHERM_HOME": str(tmp_path)})
        assert service.stdout is not None
        with service, service.stdout:
            announced = service.stdout.readline()
            service.terminate()
    assert announced.startswith("Isotherm")
    assert service.returncode == 0
    lines = [line for line in errors.read_text().splitlines() if "plug-in" in line]
    assert lines == [f"The plug-in broken (isotherm.types) from {folder / 'broken.py'} could not be loaded: "
                     "RuntimeError: no cloud"]
