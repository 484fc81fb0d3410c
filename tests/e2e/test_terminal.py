"""On a terminal: the moving picture, questions, and the tour."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from isotherm.cli import codes
from tests.e2e.conftest import COMMAND, Home

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def on_terminal(home: Home, *arguments: object, answer: bytes = b"") -> tuple[int, str]:
    """Run a command on a terminal of 80 by 24; its exit code, and everything that was painted, without the colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**home.environment, "TERM": "xterm-256color"}
    for unwanted in ("NO_COLOR", "COLUMNS", "LINES", "CI"):
        environment.pop(unwanted, None)
    command = [*COMMAND, *map(str, arguments)]
    process = subprocess.Popen(command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, answer)
    painted = b""
    try:
        while chunk := os.read(ours, 65536):
            painted += chunk
    except OSError:
        pass  # the other side is gone
    os.close(ours)
    return process.wait(timeout=60), re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", painted.decode())


@pytest.mark.ledger("S2.3")
def test_a_deployment_is_painted_and_ends_with_its_outputs(home: Home) -> None:
    code, painted = on_terminal(home, "deploy", "change", "-t", EXAMPLES / "change.yaml")
    assert code == codes.OK, painted
    assert "0/2" in painted
    assert "└─ · shade" in painted
    assert "for lamp" in painted
    assert "✓ change CREATE_COMPLETE in" in painted
    assert painted.index("Outputs") > painted.index("✓ change CREATE_COMPLETE")


def test_delete_asks_and_takes_no_for_an_answer(home: Home) -> None:
    home.run("deploy", "chain", "-t", EXAMPLES / "chain.yaml", "-p", "max_wait_secs=0")
    code, painted = on_terminal(home, "delete", "chain", answer=b"n\n")
    assert code == codes.INTERRUPTED
    assert "Delete stack chain and its 5 resources?" in painted
    assert home.ask("show", "chain")["stack_status"] == "CREATE_COMPLETE"
    code, painted = on_terminal(home, "delete", "chain", answer=b"y\n")
    assert code == codes.OK
    assert "✓ chain DELETE_COMPLETE" in painted


@pytest.mark.ledger("S2.3")
def test_the_tour_needs_no_terminal() -> None:
    done = subprocess.run([sys.executable, str(EXAMPLES / "tour.py")], capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ROLLBACK_COMPLETE" in done.stdout
    assert "isotherm watch demo" in done.stdout
