"""The contract of who may know whom is in force: it holds, and it would notice a breach."""

from __future__ import annotations

import configparser
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINT = Path(sys.executable).with_name("lint-imports")


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(LINT), "--no-cache", "--config", str(folder / ".importlinter")], cwd=folder,
                          env={"PYTHONPATH": str(folder), "PATH": ""}, capture_output=True, text=True, check=False)


def breach(tmp_path: Path, module: str, line: str) -> str:
    """What the linter says of a copy of the project in which one module has one more import."""
    shutil.copytree(ROOT / "isotherm", tmp_path / "isotherm", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".importlinter", tmp_path)
    target = tmp_path / module
    target.write_text(target.read_text(encoding="utf-8") + f"\n{line}\n", encoding="utf-8")
    done = lint(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_the_layers_hold() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_import_of_a_higher_layer_is_noticed(tmp_path: Path) -> None:
    said = breach(tmp_path, "isotherm/errors.py", "import isotherm.graph")
    assert "Each layer knows only those below it BROKEN" in said


def test_input_and_output_in_the_template_language_is_noticed(tmp_path: Path) -> None:
    assert "no I/O, no time, no logging BROKEN" in breach(tmp_path, "isotherm/template/__init__.py", "import socket")


def test_the_contract_has_no_exceptions() -> None:
    contract = configparser.ConfigParser()
    contract.read(ROOT / ".importlinter")
    assert not [section for section in contract.sections() if "ignore_imports" in contract[section]]
