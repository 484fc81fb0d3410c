"""On a terminal: the moving picture, questions, and the tour."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path

import pytest

from isotherm.cli import codes
from tests.e2e.conftest import COMMAND, Home

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def on_terminal(
    home: Home, *arguments: object, answer: bytes = b"", answers: Sequence[tuple[bytes, bytes]] = ()
) -> tuple[int, str]:
    """Run a command on a terminal of 80 by 24; its exit code, and everything that was painted, without the colours.

    `answer` is typed at once. `answers` are pairs of a prompt and what is typed when it appears: a prompt for a hidden
    value forgets what was typed before.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**home.environment, "TERM": "xterm-256color"}
    for unwanted in ("NO_COLOR", "COLUMNS", "LINES", "CI"):
        environment.pop(unwanted, None)
    command = [*COMMAND, *map(str, arguments)]
    process = subprocess.Popen(command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, answer)
    painted, open_prompts = b"", list(answers)
    try:
        while chunk := os.read(ours, 65536):
            painted += chunk
            if open_prompts and open_prompts[0][0] in painted:
                os.write(ours, open_prompts.pop(0)[1])
    except OSError:
        pass  # the other side is gone
    os.close(ours)
    return process.wait(timeout=240), re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", painted.decode())


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


def test_delete_asks_once_for_several_stacks(home: Home) -> None:
    for name in ("one", "two"):
        home.run("deploy", name, "-t", EXAMPLES / "chain.yaml", "-p", "max_wait_secs=0")
    code, painted = on_terminal(home, "delete", "one", "nothing", "two", answer=b"n\n")
    assert code == codes.INTERRUPTED
    assert "Delete 2 stacks (one, two) and their 10 resources?" in " ".join(painted.split())
    assert home.ask("show", "one")["stack_status"] == "CREATE_COMPLETE"
    code, painted = on_terminal(home, "delete", "one", "nothing", "two", answer=b"y\n")
    assert code == codes.NOT_FOUND
    assert "✓ one DELETE_COMPLETE" in painted
    assert "✓ two DELETE_COMPLETE" in painted


LAMP = """
heat_template_version: 2018-08-31
parameters:
  length: {type: number, description: The length of the name.}
  word: {type: string, hidden: true}
resources:
  lamp: {type: OS::Heat::Dummy, properties: {name_len: {get_param: length}, max_wait_secs: 0}}
  shade: {type: OS::Heat::TestResource, properties: {value: {get_param: word}}}
"""


def test_apply_asks_for_parameters_shows_the_plan_and_asks_again_before_it_destroys(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "lamp.yaml"
    file.write_text(LAMP)
    code, painted = on_terminal(home, "apply", "lamp", "-t", file, answers=[
        (b"length:", b"4\n"), (b"word:", b"tell-nobody\n"), (b"[y/N]:", b"y\n")])
    assert code == codes.OK, painted
    assert "The length of the name." in painted
    assert "Apply this plan?" in painted
    assert "tell-nobody" not in painted
    replace = ("apply", "lamp", "-t", file, "-p", "length=5")
    code, painted = on_terminal(home, *replace, answer=b"n\n")
    assert code == codes.INTERRUPTED
    code, painted = on_terminal(home, *replace, answers=[(b"[y/N]:", b"y\n"), (b"to confirm:", b"2\n")])
    assert code == codes.INTERRUPTED
    assert "Type 1 to confirm" in painted
    assert home.ask("show", "lamp")["stack_status"] == "CREATE_COMPLETE"
    code, painted = on_terminal(home, *replace, answers=[(b"[y/N]:", b"y\n"), (b"to confirm:", b"1\n")])
    assert code == codes.OK, painted
    assert home.ask("show", "lamp")["stack_status"] == "UPDATE_COMPLETE"


STAY = "import sys; sys.path.insert(0, {!r}); import tour; sys.exit(tour.stay() if tour.is_looked_at() else 9)"


@pytest.mark.parametrize(("variables", "code"), [({}, 0), ({"CI": "1"}, 9)])
def test_the_tour_ends_with_the_page_at_a_terminal(home: Home, variables: dict[str, str], code: int) -> None:
    home.folder.mkdir(exist_ok=True)
    environment = {name: value for name, value in home.environment.items() if name != "CI"}
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", STAY.format(str(EXAMPLES))]
    with subprocess.Popen(command, env={**environment, **variables}, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        painted = b""
        while b"/ui/#code=" not in painted:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux says so when the other end is closed
                break
            painted += part
        process.send_signal(signal.SIGINT)
        assert process.wait(240) == code, painted.decode()
    os.close(ours)
    assert (b"/ui/#code=" in painted) == (code == 0)


@pytest.mark.long
@pytest.mark.ledger("S2.3")
def test_the_tour_needs_no_terminal() -> None:
    done = subprocess.run([sys.executable, str(EXAMPLES / "tour.py")], capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ROLLBACK_COMPLETE" in done.stdout
    assert "isotherm work demo" in done.stdout
