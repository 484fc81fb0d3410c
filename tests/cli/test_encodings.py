"""A terminal or a file whose encoding has few characters ends no command."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from isotherm.cli.show import encodings

CHAIN = Path(__file__).resolve().parents[2] / "examples" / "chain.yaml"


def test_symbols_have_a_plain_form_and_other_characters_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii"))
    encodings.tolerate()
    sys.stdout.write("✓ a → ü")
    sys.stdout.flush()
    assert written.getvalue() == b"+ a > \\xfc"


def test_what_can_be_encoded_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "utf-8"))
    encodings.tolerate()
    sys.stdout.write("✓ ü")
    sys.stdout.flush()
    assert written.getvalue() == "✓ ü".encode()


def test_all_symbols_of_the_command_line_have_a_plain_form() -> None:
    package = Path(encodings.__file__).parents[1]
    used = {char for file in package.rglob("*.py") for char in file.read_text(encoding="utf-8") if not char.isascii()}
    assert {char for char in used if not char.translate(encodings.PLAIN).isascii()} == set()


def test_a_stack_is_deployed_at_such_a_terminal(home: Path) -> None:
    environment = {"ISOTHERM_HOME": str(home), "PYTHONIOENCODING": "ascii", "PATH": ""}
    ran = subprocess.run([sys.executable, "-m", "isotherm.cli.main", "deploy", "web", "-t", CHAIN], env=environment,
                         capture_output=True, check=False, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "+" in ran.stdout and ran.stdout.isascii()
